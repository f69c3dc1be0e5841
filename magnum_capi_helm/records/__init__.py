# SPDX-License-Identifier: Apache-2.0

"""Magnum's rows: read, written, and compared with what there is."""
