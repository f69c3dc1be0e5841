# SPDX-License-Identifier: Apache-2.0

"""Scripts for operators, and tools for a release."""
