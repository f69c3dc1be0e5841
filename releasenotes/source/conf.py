# SPDX-License-Identifier: Apache-2.0

"""How Sphinx builds the release notes."""

extensions = ["openstackdocstheme", "reno.sphinxext"]

project = "magnum-capi-helm Release Notes"
copyright = "2026, OpenStack contributors"

openstackdocs_repo_name = "openstack/magnum-capi-helm"
openstackdocs_auto_name = False
openstackdocs_auto_version = False
openstackdocs_use_storyboard = False
openstackdocs_bug_project = "magnum"
openstackdocs_bug_tag = "capi-helm"
# Release notes are of all versions.
version = release = ""

html_theme = "openstackdocs"
pygments_style = "native"
