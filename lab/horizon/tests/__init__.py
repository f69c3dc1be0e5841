# SPDX-License-Identifier: Apache-2.0

"""Horizon with magnum-ui, in a browser, on the running lab."""
