# SPDX-License-Identifier: Apache-2.0

"""A fault hits the request that it is for, and does what it says."""

from __future__ import annotations

import os
from typing import Any

from oslotest import base
import requests

from lab.chaos import faults
from lab.chaos import processes
from lab.chaos import proxy
from lab.chaos import steps
from lab.chaos import table
from magnum_capi_helm.tests.unit.kubernetes import server

_CUT = (requests.ConnectionError, requests.exceptions.ChunkedEncodingError)
_SECRETS = "/api/v1/namespaces/magnum-1/secrets"
_APIS = "/apis/cluster.x-k8s.io/v1beta2/namespaces/magnum-1"
_RELEASE = "web-0123456789ab"
_CONTROL_PLANE = (
    "/apis/controlplane.cluster.x-k8s.io/v1beta2/namespaces/magnum-1"
    f"/kubeadmcontrolplanes/{_RELEASE}-control-plane"
)
_GROUP = f"{_APIS}/machinedeployments/{_RELEASE}-extra"
_RECORD = f"sh.helm.release.v1.{_RELEASE}"
#: Operation, number of the step, a request that it is.
_REQUESTS = (
    ("create", 0, "PATCH", f"{_SECRETS}/{_RELEASE}-cloud-credentials?a=b", ""),
    ("create", 1, "POST", _SECRETS, f'{{"name":"{_RELEASE}-intent"}}'),
    ("resize", 1, "PATCH", f"{_SECRETS}/{_RELEASE}-intent?a=b", ""),
    ("create", 2, "POST", f"{_SECRETS}?a=b", f'{{"name":"{_RECORD}.v1"}}'),
    ("create", 3, "POST", f"{_APIS}/clusters?a=b", f'"name":"{_RELEASE}"'),
    ("resize", 3, "PUT", f"{_SECRETS}/{_RECORD}.v12?a=b", ""),
    ("delete group", 1, "DELETE", _GROUP, ""),
    ("upgrade", 1, "PATCH", f"{_CONTROL_PLANE}?force=true&dryRun=All", ""),
    ("upgrade", 3, "PATCH", f"{_CONTROL_PLANE}?fieldManager=helm", ""),
    ("upgrade", 3, "PATCH", _CONTROL_PLANE, ""),
    ("delete", 1, "DELETE", f"{_APIS}/clusters/{_RELEASE}", ""),
    ("delete", 2, "DELETE", f"{_SECRETS}/{_RECORD}.v3", ""),
)


class StepsTest(base.BaseTestCase):
    def test_a_request_is_one_step_of_its_cluster_alone(self) -> None:
        for operation, number, method, path, body in _REQUESTS:
            request = faults.Request(method, path, body.encode(), 1)
            read = faults.Request("GET", path, b"", 1)
            found = []
            for at, step in enumerate(steps.KUBERNETES[operation]):
                mine = step.asks(lambda: r"web-\w{12}")
                other = step.asks(lambda: r"other-\w{12}")
                found += [at] * mine(request)
                self.assertFalse(other(request) or mine(read), str(step))
            self.assertEqual([number], found, f"{operation} {path}")

    def test_the_page_is_made_of_what_is_kept(self) -> None:
        self.assertEqual(
            table.TABLES.read_text(), table.tables(table.read(table.KEPT))
        )


class ProxyTest(server.ServerTest):
    def setUp(self) -> None:
        super().setUp()
        self.upstream = self.server
        self.proxy = proxy.Proxy(self.upstream.url)
        self.addCleanup(self.proxy.close)

    def post(self) -> requests.Response:
        url = f"{self.proxy.url}/things?x=1"
        return requests.post(url, json={"a": 1}, timeout=5)

    def rule(self, fault: faults.Fault) -> proxy.Rule:
        return self.proxy.when(lambda asked: asked.method == "POST", fault)

    def test_each_fault_hits_one_request_and_the_next_gets_through(
        self,
    ) -> None:
        seen: list[int | None] = []

        def act(request: faults.Request) -> None:
            seen.append(processes.asking(request.port, self.proxy.port))

        # What the client sees, and whether the request was served.
        rows: list[tuple[faults.Fault, Any, int]] = [
            (faults.delayed(0.01), 200, 1),
            (faults.lost, None, 0),
            (faults.unanswered, None, 1),
            (faults.truncated, None, 1),
            (faults.answered(503), 503, 0),
            (faults.before(act), None, 0),
            (faults.after(act), 200, 1),
        ]
        for fault, status, served in rows:
            before = len(self.upstream.requests)
            rule = self.rule(fault)
            other = requests.get(f"{self.proxy.url}/things", timeout=5)
            self.assertEqual(200, other.status_code)
            self.assertFalse(rule.hit.is_set(), str(fault))
            if status is None:
                self.assertRaises(_CUT, self.post)
            else:
                self.assertEqual(status, self.post().status_code)
            self.assertTrue(rule.hit.is_set(), str(fault))
            count = len(self.upstream.requests) - before - 1
            self.assertEqual(served, count, str(fault))
            self.assertEqual({"code": 200}, self.post().json(), str(fault))
        # Who asks is known by the connection.
        self.assertEqual(os.getpid(), seen[-1])

    def test_while_it_is_away_nobody_listens(self) -> None:
        with self.proxy.away():
            with self.proxy.away():
                self.assertRaises(_CUT, self.post)
            self.assertRaises(_CUT, self.post)
        self.assertEqual(200, self.post().status_code)
