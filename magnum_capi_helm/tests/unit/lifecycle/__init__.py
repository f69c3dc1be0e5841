# SPDX-License-Identifier: Apache-2.0

"""Flows of the driver on Magnum's own rows, against the fakes."""
