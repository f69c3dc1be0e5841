# SPDX-License-Identifier: Apache-2.0

"""How Sphinx builds the documentation. Nothing is fetched while it does."""

import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).parents[1] / "ext"))

extensions = [
    "cliff.sphinxext",
    "openstackdocstheme",
    "oslo_config.sphinxconfiggen",
    "oslo_config.sphinxext",
    "label_reference",
    "table_reference",
]

project = "magnum-capi-helm"
copyright = "2026, OpenStack contributors"

openstackdocs_repo_name = "openstack/magnum-capi-helm"
# Names and versions come from here and not from git: the documentation also
# builds in an unpacked archive.
openstackdocs_auto_name = False
openstackdocs_auto_version = False
openstackdocs_use_storyboard = False
openstackdocs_bug_project = "magnum"
openstackdocs_bug_tag = "capi-helm"
version = release = ""

# A reference that leads nowhere is a warning, and so an error.
nitpicky = True

# Blocks are commands with their output, unless a directive names a language.
highlight_language = "console"

config_generator_config_file = [
    (
        "../../etc/magnum-capi-helm-config-generator.conf",
        "_static/magnum-capi-helm",
    ),
]

html_theme = "openstackdocs"
html_static_path = ["_static"]
html_css_files = ["tables.css"]
pygments_style = "native"
highlight_language = "console"

man_pages = [
    (
        "cli/magnum-capi-helm",
        "magnum-capi-helm",
        "operate the Cluster API driver of Magnum",
        "OpenStack contributors",
        1,
    ),
]
