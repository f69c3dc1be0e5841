# SPDX-License-Identifier: Apache-2.0

"""A program on the bare host can write nothing but /tmp, and reads all."""

import os
import pathlib
import subprocess
import tempfile
import unittest

from lab import bare_host
from lab import layout
from lab import service
from lab.cloud import config
from lab.tests import base

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
#: With options that 1.4.0 does not have.
_CONFIGURATION = """\
[DEFAULT]
state_path = /lab/magnum
[oslo_concurrency]
lock_path = /lab/magnum
[capi_helm]
kubeconfig_file = /lab/kubeconfig
chart_store = /lab/chart-store
"""
_OLD = """\
[DEFAULT]
[oslo_concurrency]
[capi_helm]
kubeconfig_file = /lab/kubeconfig
"""


@unittest.skipIf(os.getuid(), "root alone can make file systems read-only")
class BareHostTest(base.LabCase):
    def test_it_can_write_nothing_and_has_options_of_1_4_0(self) -> None:
        # Not below /tmp, which the program can write.
        state = pathlib.Path(
            self.enterContext(tempfile.TemporaryDirectory(dir="/var/tmp"))
        )
        self.replace(layout, "CLOUD", state)
        config.home("magnum").mkdir()
        config.path("magnum").write_text(_CONFIGURATION)
        secret, program = state / "secret", state / "look.py"
        secret.write_text("of root")
        secret.chmod(0o600)
        program.write_text(_LOOK)
        places = ["/", "/root", "/var/lib", "/var/tmp", str(state)]
        words = ["python3", program, secret, *places, "--config-file"]
        ours = service.Service("magnum", tuple(map(str, words)), layer=7)
        *argv, _, written = bare_host.around(ours).argv
        self.assertEqual(_OLD, pathlib.Path(written).read_text())
        done = subprocess.run(
            argv, capture_output=True, text=True, timeout=30, check=False
        )
        refused = f"['Read-only file system'] {len(places)}"
        self.assertEqual(
            f"65534 65534 {refused}\nof root\n", done.stdout, done.stderr
        )
