# SPDX-License-Identifier: Apache-2.0

"""pre-commit runs commands of "tox -e pep8", and downloads nothing."""

from __future__ import annotations

import configparser

from oslotest import base
import yaml

from tools import archives


class PreCommitTest(base.BaseTestCase):
    def test_each_hook_is_a_command_of_pep8(self) -> None:
        parser = configparser.RawConfigParser()
        parser.read(archives.CHECKOUT / "tox.ini")
        text = parser["testenv:pep8"]["commands"].replace("\\\n", "")
        commands = {" ".join(line.split()) for line in text.splitlines()}
        path = archives.CHECKOUT / ".pre-commit-config.yaml"
        [local] = yaml.safe_load(path.read_text())["repos"]
        self.assertEqual("local", local["repo"])
        for hook in local["hooks"]:
            self.assertEqual("system", hook["language"], hook["id"])
            self.assertIn(hook["entry"], commands)
