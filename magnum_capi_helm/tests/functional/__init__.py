# SPDX-License-Identifier: Apache-2.0

"""Tests as a user would make them: Magnum's REST API, on the lab."""
