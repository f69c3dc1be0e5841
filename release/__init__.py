# SPDX-License-Identifier: Apache-2.0

"""What makes a release, and what says with what it was tried."""
