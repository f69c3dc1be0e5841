# SPDX-License-Identifier: Apache-2.0
"""What operators practise, on the lab: longer than a test of each change."""
