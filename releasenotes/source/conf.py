# Licensed under the Apache License, Version 2.0 (the "License"); you may
# not use this file except in compliance with the License. You may obtain
# a copy of the License at
#
#      http://www.apache.org/licenses/LICENSE-2.0
#
# Unless required by applicable law or agreed to in writing, software
# distributed under the License is distributed on an "AS IS" BASIS, WITHOUT
# WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the
# License for the specific language governing permissions and limitations
# under the License.

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
