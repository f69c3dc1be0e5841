# SPDX-License-Identifier: Apache-2.0

"""A stand-in for the helm program, on the PATH of a test."""

from __future__ import annotations

import json
import os
import pathlib
import shlex
from typing import Any

import fixtures
from oslotest import base

from magnum_capi_helm.helm import client
from magnum_capi_helm.tests.fakes import held

VALUES = {"apiServer": {"password": "hunter2"}, "größe": [1, None]}
RELEASE = json.dumps(
    {
        "name": "demo-1",
        "namespace": "magnum-p1",
        "version": 1,
        "info": {"status": "deployed", "description": "Install complete"},
        "chart": {"metadata": {"name": "openstack-cluster"}},
    }
)


class HelmTestCase(base.BaseTestCase):
    #: What ``helm version`` prints; empty: it does what other commands do.
    version = "v3.20.2"

    def setUp(self) -> None:
        super().setUp()
        self.useFixture(held.Lease())
        self.home = pathlib.Path(self.useFixture(fixtures.TempDir()).path)
        self.bin = self.home / "bin"
        self.bin.mkdir()
        path = f"{self.bin}{os.pathsep}{os.environ['PATH']}"
        self.useFixture(fixtures.EnvironmentVariable("PATH", path))

    def stub(self, body: str) -> None:
        """Make helm a script that notes how it was called, then does this."""
        told = shlex.quote(self.version)
        script = f"""#!/bin/sh
[ "$1" = version ] && [ {told} ] && echo {told} && exit
cd {shlex.quote(str(self.home))}
printf '%s\\n' "$@" > argv
env > environment
cat > stdin
{body}
"""
        stub = self.bin / "helm"
        stub.write_text(script)
        stub.chmod(0o755)

    def answers(self, text: str) -> None:
        self.stub(f"printf '%s' {shlex.quote(text)}")

    def complains(self, text: str) -> None:
        self.stub(f"printf '%s' {shlex.quote(text)} >&2; exit 1")

    def noted(self, what: str) -> str:
        return (self.home / what).read_text()

    def argv(self) -> list[str]:
        return self.noted("argv").splitlines()

    def environment(self) -> dict[str, str]:
        lines = self.noted("environment").splitlines()
        return dict(line.split("=", 1) for line in lines if "=" in line)

    def helm(self, timeout: float = 60) -> client.Helm:
        seconds: Any = timeout
        return client.Helm("/etc/kube", seconds)

    def upgrade(self, helm: client.Helm | None = None) -> float:
        return (helm or self.helm()).upgrade(
            "demo-1", "magnum-p1", "/store/chart.tgz", VALUES
        )
