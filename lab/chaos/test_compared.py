# SPDX-License-Identifier: Apache-2.0

"""The same faults with this driver and with magnum-capi-helm 1.4.0.

Both in the lab's one-process Magnum. How they end with 1.4.0 is printed and
kept for a table; only of this driver is anything demanded.
"""

from __future__ import annotations

from concurrent import futures
import dataclasses
import json
import pathlib
import time
from typing import Any

import fixtures
from keystoneauth1 import exceptions as ka_exceptions
import yaml

from lab.chaos import case
from lab.chaos import columns
from lab.chaos import conductors
from lab.chaos import endings
from lab.chaos import proxy
from lab.chaos import steps
from magnum_capi_helm.kubernetes import kinds
from magnum_capi_helm.tests.functional import base
from magnum_capi_helm.tests.functional import programs

RESULTS = programs.LAB / "chaos-compared.jsonl"
#: Seconds after which nothing more is expected of an operation.
PATIENCE = 300
_PREDECESSOR = "1.4.0"
_DELETED = ("DELETE_COMPLETE", "DELETE_FAILED")
#: Operation, number of its step, fault.
_ROWS = (
    ("create", 0, "500"),
    ("create", 0, "unanswered"),
    ("create", 2, "lost"),
    ("create", 3, "503"),
    ("create", 3, "truncated"),
    ("delete", 1, "503"),
    ("delete", 2, "lost"),
    # This one hits all the others, which are in the middle of their work.
    ("create", 3, "killed after"),
)


class ComparedCase(base.LabCase):
    """All clusters at once."""

    driver = ""
    between: proxy.Proxy
    conductors: conductors.Conductors

    def live(self) -> list[endings.Ending]:
        """A cluster for each row."""
        self.template_ = self.template()
        self.called: dict[str, str] = {}
        with futures.ThreadPoolExecutor(len(_ROWS)) as pool:
            found = list(pool.map(self._meet, _ROWS))
        self.conductors.recover()
        self.between.recover()
        with futures.ThreadPoolExecutor(len(_ROWS)) as pool:
            list(pool.map(self._leave, found))
        with RESULTS.open("a") as stream:
            for _, ending in found:
                print(ending, flush=True)
                stream.write(f"{json.dumps(dataclasses.asdict(ending))}\n")
        return [ending for _, ending in found]

    def _meet(self, row: tuple[str, int, str]) -> tuple[str, endings.Ending]:
        operation, number, name = row
        step = steps.KUBERNETES[operation][number]
        ending = endings.Ending(self.driver, operation, step.name, name)
        called = self.unique("same")
        (column,) = [e for e in columns.COLUMNS if e.name == name]
        fault = column.make(self.conductors, self.between)

        def arm() -> proxy.Rule:
            return self.between.when(
                step.asks(lambda: rf"{called}-\w{{12}}"), fault
            )

        if operation == "create":
            rule = arm()
        body = {
            "name": called,
            "cluster_template_id": self.template_,
            "node_count": 1,
        }
        uuid = str(self.magnum.call("POST", "/clusters", body)["uuid"])
        self.called[uuid] = called
        self._clusters.append(uuid)
        self.addCleanup(self._clean_up)
        began = time.monotonic()
        self._wait(uuid, ending)
        if operation == "delete":
            rule = arm()
            began = time.monotonic()
            self._send("DELETE", uuid)
            # Its row says what it said before, for a moment.
            self._wait(uuid, ending, _DELETED)
        ending.seconds = round(time.monotonic() - began)
        ending.met = rule.hit.is_set()
        return uuid, ending

    def _send(self, method: str, uuid: str) -> Any:
        """The answer. The API is gone, too, while Magnum is started again."""
        over = time.monotonic() + PATIENCE
        while True:
            try:
                return self.magnum.send(method, f"/clusters/{uuid}", None, {})
            except ka_exceptions.ConnectFailure:
                if time.monotonic() > over:
                    raise
                time.sleep(base.POLL)

    def _wait(
        self,
        uuid: str,
        ending: endings.Ending,
        ends: tuple[str, ...] = ("_COMPLETE", "_FAILED"),
    ) -> None:
        """Until it is settled, or nobody waits any longer.

        :param ends: of a status that stays
        """
        over = time.monotonic() + PATIENCE * base.SLOWER
        while time.monotonic() < over:
            time.sleep(base.POLL)
            answer = self._send("GET", uuid)
            found: dict[str, Any] = (
                answer.json() if answer.status_code < 300 else {}
            )
            if answer.status_code == 404:
                ending.status, ending.reason = "gone", ""
                return
            ending.status = found.get("status", ending.status)
            ending.reason = found.get("status_reason") or ""
            if ending.status.endswith(ends):
                return

    def _leave(self, found: tuple[str, endings.Ending]) -> None:
        """The user deletes it, and again; what is left then."""
        uuid, ending = found
        waiting = dataclasses.replace(ending)
        for _ in range(3):
            self._send("DELETE", uuid)
            self._wait(uuid, waiting, _DELETED)
            if waiting.status == "gone":
                break
        else:
            ending.left.append(f"the row, {waiting.status}")
        ending.left += [each["name"] for each in self.credentials_of(uuid)]
        ending.left += [
            f"{kind.name} {each['metadata']['name']}"
            for kind in (kinds.CLUSTER, kinds.SECRET)
            for each in self.plane.list(kind, self.namespace)
            if each["metadata"]["name"].startswith(f"{self.called[uuid]}-")
        ]


class SameTest(ComparedCase):
    """This driver."""

    driver = "this driver"

    def setUp(self) -> None:
        super().setUp()
        self.between, kubeconfig = case.before_kubernetes(
            self, programs.LAB / "driver-kubeconfig"
        )
        self.conductors = conductors.Conductors(lambda: self.between.port)
        self.configure(kubeconfig_file=str(kubeconfig), helm_timeout="60")

    def test_each_ends_and_leaves_nothing(self) -> None:
        for each in self.live():
            self.assertRegex(each.status, "gone|_COMPLETE|_FAILED", str(each))
            self.assertEqual([], each.left, str(each))
            self.assertTrue(each.met, str(each))


class PredecessorTest(ComparedCase):
    """1.4.0."""

    driver = _PREDECESSOR

    def setUp(self) -> None:
        super().setUp()
        self.between, kubeconfig = case.before_kubernetes(
            self, self._administrator()
        )
        self.conductors = conductors.Conductors(
            lambda: self.between.port, ("restart", "--driver", _PREDECESSOR)
        )
        # The last of its configuration files.
        options = programs.LAB / "cloud" / "magnum" / "predecessor.conf"
        text = options.read_text()
        self.addCleanup(options.write_text, text)
        options.write_text(
            text.replace(str(programs.LAB / "kubeconfig"), str(kubeconfig))
        )
        self.admit()
        programs.lab("restart", "magnum", "--driver", _PREDECESSOR)

    def tearDown(self) -> None:
        # Before what is left is deleted, which 1.4.0 may not be able to.
        programs.lab("restart", "magnum")
        super().tearDown()

    def _administrator(self) -> pathlib.Path:
        """Its kubeconfig with a token: a proxy can't hand on a certificate.

        1.4.0 comes without rules for less than an administrator.
        """
        name = self.unique("predecessor")
        account = ("serviceaccount", name, "--namespace=default")
        rights = (
            "clusterrolebinding",
            name,
            "--clusterrole=cluster-admin",
            f"--serviceaccount=default:{name}",
        )
        for each in (account, rights):
            self._kubectl("create", *each)
            self.addCleanup(self._kubectl, "delete", *each[:2])
        token = self._kubectl("create", "token", name, "--duration=4h")
        known = yaml.safe_load((programs.LAB / "kubeconfig").read_text())
        (user,) = known["users"]
        user["user"] = {"token": token.strip()}
        found = pathlib.Path(self.useFixture(fixtures.TempDir()).path, "admin")
        found.touch(0o600)
        found.write_text(yaml.safe_dump(known))
        return found

    def _kubectl(self, *words: str) -> str:
        return programs.run(
            str(programs.LAB / "bin" / "kubectl"),
            f"--kubeconfig={programs.LAB / 'kubeconfig'}",
            *words,
        )

    def test_how_each_ends(self) -> None:
        found = self.live()
        self.assertEqual(len(_ROWS), len(found))
        refused = [each for each in found if "Forbidden" in each.reason]
        self.assertEqual([], refused, "it was given too few rights")
