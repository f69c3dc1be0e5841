# SPDX-License-Identifier: Apache-2.0

"""Data and rules that every other folder uses. Nothing here does I/O."""
