# SPDX-License-Identifier: Apache-2.0

"""OpenStack for the lab: real services from PyPI, no hypervisor."""
