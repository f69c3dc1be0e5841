# SPDX-License-Identifier: Apache-2.0

"""The page about Kolla: its files, with Kolla of each release."""

from __future__ import annotations

import os
import pty
import subprocess
import unittest

from tools.deployers import kolla
from tools.deployers import kolla_case


class Kolla20251Test(kolla_case.KollaCase):
    version = "20.6.0"
    helm = "v3.16.3"


class Kolla20252Test(kolla_case.KollaCase):
    version = "21.3.0"
    helm = "v3.19.0"


class Kolla20261Test(kolla_case.KollaCase):
    version = "22.2.0"
    helm = "v3.19.0"


class ScriptTest(unittest.TestCase):
    def test_script_asks_for_a_terminal_only_where_there_is_one(self) -> None:
        script = kolla.SAMPLES / "magnum-capi-helm"
        words = [
            *("magnum_conductor", "magnum-capi-helm"),
            *("cluster", "apply", "two words"),
        ]
        command = ["/bin/sh", str(script), *words[2:]]
        for terminal in (False, True):
            stub = kolla_case.with_stub(self, "docker")
            if terminal:
                ours, theirs = pty.openpty()
                self.addCleanup(os.close, ours)
                self.addCleanup(os.close, theirs)
            else:
                theirs = subprocess.DEVNULL
            subprocess.run(
                command, env=stub, stdin=theirs, stdout=theirs, check=True
            )
            options = ["exec", "-i", *(["-t"] if terminal else [])]
            self.assertEqual([*options, *words], kolla_case.words(stub))
