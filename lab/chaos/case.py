# SPDX-License-Identifier: Apache-2.0

"""Tests with Magnum as operators run it: its API and three conductors."""

from __future__ import annotations

import json
import pathlib
import re
from typing import Any

from lab.chaos import conductors
from lab.chaos import keystone
from lab.chaos import processes
from lab.chaos import proxy
from magnum_capi_helm.model import names
from magnum_capi_helm.tests.functional import base
from magnum_capi_helm.tests.functional import database
from magnum_capi_helm.tests.functional import magnum_api
from magnum_capi_helm.tests.functional import programs
from magnum_capi_helm.tests.functional import walk_agreement

#: Seconds for helm. What a dead helm leaves is waited for so long.
HELM_SECONDS = 60
RESULTS = programs.LAB / "chaos.jsonl"


class HighlyAvailableCase(base.LabCase):
    """Three conductors behind proxies, until the test ends."""

    def setUp(self) -> None:
        super().setUp()
        programs.refuse_in_company("three conductors")
        self.between = self._before_kubernetes()
        self.identity = keystone.Proxy(magnum_api.KEYSTONE)
        self.addCleanup(self.identity.close)
        self.conductors = conductors.Conductors(lambda: self.between.port)
        self._start()
        self.agreement = walk_agreement.Agreement(
            self.plane,
            self.namespace,
            walk_agreement.images(self.magnum.session),
        )

    def _before_kubernetes(self) -> proxy.Proxy:
        found, self.kubeconfig = before_kubernetes(
            self, programs.LAB / "driver-kubeconfig"
        )
        return found

    def _start(self) -> None:
        identity = {
            "auth_url": self.identity.url,
            "www_authenticate_uri": self.identity.url,
        }
        sections = {
            "capi_helm": {
                "kubeconfig_file": str(self.kubeconfig),
                "helm_timeout": str(HELM_SECONDS),
            },
            "keystone_auth": identity,
            "keystone_authtoken": identity,
            "quotas": {"max_clusters_per_project": "100"},
        }
        base.write_override(sections)
        self.addCleanup(base.OVERRIDE.unlink)
        # The cleanups before it delete clusters, through the conductors.
        self.addCleanup(programs.lab, "down", "--ha")
        programs.lab("up", "--ha")
        self.addCleanup(self.settle)

    def settle(self) -> None:
        """No faults any more, and everybody is there again."""
        self.between.recover()
        self.identity.recover()
        self.conductors.recover()

    def made(self, cluster: str) -> None:
        """It is deleted after the test, if it is still there."""
        self._clusters.append(cluster)
        self.addCleanup(self._clean_up)

    # Looking

    def left_of_cluster(self, uuid: str) -> list[str]:
        """What there is of a cluster whose row is gone."""
        # What every name of the release has of the UUID.
        mark = names.release("", uuid).rpartition("-")[2]
        return [
            *self.left_of(mark),
            *(each["name"] for each in self.credentials_of(uuid)),
            *walk_agreement.server_groups(self.magnum.session, mark),
        ]

    def certificates(self) -> int:
        """How many certificates and keys Magnum's database has."""
        (found,) = database.rows("SELECT count(*) AS all_ FROM x509keypair")
        return int(found["all_"])

    def assert_nothing_left(self) -> None:
        """No helm of the conductors, and no temporary file."""
        self.until(lambda: not self.helms(), 60, "a helm is left")
        folder = programs.LAB / "temporary"
        files = [str(e) for e in folder.rglob("*") if not e.is_dir()]
        self.assertEqual([], files)

    def helms(self) -> list[str]:
        """helm processes that are there."""
        return [
            processes.command(e) for e in processes.helms(str(programs.LAB))
        ]


def before_kubernetes(
    test: base.LabCase, kubeconfig: pathlib.Path
) -> tuple[proxy.Proxy, pathlib.Path]:
    """A proxy before the management cluster, and a kubeconfig of it."""
    pki = programs.LAB / "pki"
    text = kubeconfig.read_text()
    (server,) = re.findall(r"server: (\S+)", text)
    found = proxy.Proxy(
        server,
        proxy.Trust(
            pki / "apiserver.crt", pki / "apiserver.key", pki / "ca.crt"
        ),
    )
    test.addCleanup(found.close)
    path = programs.LAB / "faults.kubeconfig"
    path.touch(0o600)
    path.write_text(text.replace(server, found.url))
    test.addCleanup(path.unlink)
    return found, path


def keep(rows: list[dict[str, Any]]) -> None:
    """Add rows to what the table is made from."""
    with RESULTS.open("a") as stream:
        for each in rows:
            stream.write(f"{json.dumps(each)}\n")
