# SPDX-License-Identifier: Apache-2.0

"""Nothing new is without a release note."""

from __future__ import annotations

import configparser
import re
import unittest

from magnum_capi_helm.config import conf
from tools import archives

#: ``[capi_helm]`` of 1.4.0, whose place this project takes.
_OF_1_4_0 = {
    "api_resources",
    "app_cred_interface_type",
    "csi_cinder_allowed_topologies",
    "csi_cinder_default_volume_type",
    "default_helm_chart_version",
    "helm_chart_name",
    "helm_chart_repo",
    "k8s_control_plane_resource_conditions",
    "kubeconfig_file",
    "minimum_flavor_ram",
    "minimum_flavor_vcpus",
    "namespace_prefix",
}
_FOLDER = "releasenotes/notes"
#: What a word of an option's or command's name consists of.
_WORD = "[a-z0-9_]"


def _notes() -> str:
    paths = (archives.CHECKOUT / _FOLDER).glob("*.yaml")
    texts = [path.read_text() for path in sorted(paths)]
    return re.sub(r"\s+", " ", " ".join(texts))


def _options() -> set[str]:
    """Names of all options but the defaults of labels."""
    return {
        option.name
        for group, found in conf.list_opts()
        for option in found
        if str(group) != conf.labels_group.name
    }


def _commands() -> set[str]:
    parser = configparser.ConfigParser(delimiters=["="])
    parser.read(archives.CHECKOUT / "setup.cfg")
    lines = parser["entry_points"]["magnum_capi_helm.cli"].strip().splitlines()
    return {line.partition("=")[0].strip().replace("_", " ") for line in lines}


class NotesTest(unittest.TestCase):
    def test_each_new_option_and_each_command_has_a_note(self) -> None:
        notes, new, commands = _notes(), _options() - _OF_1_4_0, _commands()
        self.assertGreater(len(new), 25)
        self.assertIn("cluster apply", commands)
        patterns = {
            **{name: rf"(?<!{_WORD}){name}(?!{_WORD})" for name in new},
            **{
                name: rf"``(magnum-capi-helm )?{name}[ `]" for name in commands
            },
        }
        self.assertEqual(
            [],
            [
                name
                for name, pattern in patterns.items()
                if not re.search(pattern, notes)
            ],
            _FOLDER,
        )

    def test_no_option_of_1_4_0_is_gone(self) -> None:
        self.assertEqual(set(), _OF_1_4_0 - _options())
