"""OpenStack for the lab: real services from PyPI, no hypervisor."""
