# SPDX-License-Identifier: Apache-2.0

"""``magnum-capi-helm check`` with the magnum.conf of a deployment tool.

Nothing answers: database, Keystone and management cluster are ports of this
host where nobody listens. So a line says either that its part is configured,
or which part does not answer.
"""

from __future__ import annotations

import configparser
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

#: More than three times of what it takes on a host with nothing else to do.
SECONDS = 60


def verify(case: unittest.TestCase, magnum_conf: str) -> None:
    """Let a test fail unless ``check`` says what it should of a file.

    :param magnum_conf: the text of the file
    :raises subprocess.TimeoutExpired: it takes more than a minute
    """
    with tempfile.TemporaryDirectory() as folder:
        file = pathlib.Path(folder, "magnum.conf")
        file.write_text(magnum_conf)
        program = ("-W", "ignore", "-m", "magnum_capi_helm.cli.main")
        words = (f"--config-file={file}", "check", "--format=json")
        done = subprocess.run(
            [sys.executable, *program, *words],
            # No helm: it would look for the chart in the Internet.
            env={**os.environ, "HOME": folder, "PATH": folder},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=SECONDS,
        )
    case.assertIn("[", done.stdout, done.stderr)
    lines = {
        each["Check"]: f"{each['State']}: {each['Detail']}"
        for each in json.loads(done.stdout[done.stdout.index("[") :])
    }
    drivers = "ok: "
    if "kubernetes_allowed_network_drivers" in magnum_conf:
        drivers = "ok: calico or cilium; the default is calico"
    keystone = "failed: Keystone, as Magnum's service user: no answer"
    for name, detail in (
        ("configuration", "ok: "),
        ("network drivers", drivers),
        ("database", "Magnum's database can't be read"),
        ("service user", keystone),
    ):
        case.assertIn(detail, lines[name])


def options(text: str) -> set[tuple[str, str, str]]:
    """Return section, name and value of each option, without white space.

    Values of oslo.config may go on in lines below.
    """
    parsed = configparser.RawConfigParser(strict=False, default_section="")
    parsed.read_string(text)
    return {
        (section, name, "".join(value.split()))
        for section in parsed.sections()
        for name, value in parsed.items(section)
    }
