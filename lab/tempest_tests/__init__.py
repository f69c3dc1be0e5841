# SPDX-License-Identifier: Apache-2.0

"""OpenStack's own tests of Magnum's API, on the lab."""
