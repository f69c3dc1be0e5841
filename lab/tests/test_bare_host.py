# SPDX-License-Identifier: Apache-2.0
"""A program on the bare host can write nothing but /tmp, and reads all."""

import os
import pathlib
import subprocess
import tempfile
import textwrap
import unittest
from unittest import mock

from lab import bare_host
from lab import layout
from lab import service
from lab.cloud import config

_LOOK = """
import os, pathlib, sys, tempfile
refused = []
for each in sys.argv[2:]:
    try:
        pathlib.Path(each, "written").touch()
    except OSError as error:
        refused.append(error.strerror)
print(os.getuid(), os.getgid(), sorted(set(refused)), len(refused))
print(pathlib.Path(sys.argv[1]).read_text().strip())
tempfile.TemporaryFile()
"""
_CONFIGURATION = """\
[DEFAULT]
debug = false
log_file = /lab/log/magnum.log
state_path = /lab/magnum
[oslo_concurrency]
lock_path = /lab/magnum
[capi_helm]
kubeconfig_file = /lab/kubeconfig
chart_store = /lab/chart-store
values_profile_dir = /lab/profiles
"""


@unittest.skipIf(os.getuid(), "root alone can make file systems read-only")
class BareHostTest(unittest.TestCase):
    def setUp(self) -> None:
        # Not below /tmp, which the program can write.
        folder = tempfile.TemporaryDirectory(dir="/var/tmp")
        self.addCleanup(folder.cleanup)
        self.state = pathlib.Path(folder.name)
        patch = mock.patch.object(layout, "CLOUD", self.state)
        patch.start()
        self.addCleanup(patch.stop)
        config.home("magnum").mkdir()
        config.path("magnum").write_text(_CONFIGURATION)

    def test_it_can_write_nothing(self) -> None:
        secret = self.state / "secret"
        secret.write_text("of root")
        secret.chmod(0o600)
        program = self.state / "look.py"
        program.write_text(_LOOK)
        places = ["/", "/root", "/var/lib", "/var/tmp", str(self.state)]
        ours = service.Service(
            "magnum",
            ("python3", str(program), str(secret), *places, "--config-file"),
            layer=7,
        )
        argv = bare_host.around(ours).argv[:-2]
        done = subprocess.run(
            argv, capture_output=True, text=True, timeout=30, check=False
        )
        refused = f"['Read-only file system'] {len(places)}"
        self.assertEqual(
            f"65534 65534 {refused}\nof root\n", done.stdout, done.stderr
        )

    def test_its_configuration_is_that_of_1_4_0(self) -> None:
        found = bare_host.write_configuration().read_text()
        expected = """
            [DEFAULT]
            debug = false
            [oslo_concurrency]
            [capi_helm]
            kubeconfig_file = /lab/kubeconfig
        """
        self.assertEqual(textwrap.dedent(expected).lstrip(), found)
