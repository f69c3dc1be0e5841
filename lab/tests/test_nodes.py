# SPDX-License-Identifier: Apache-2.0

"""Load balancers and addons of machines that run are as the real ones."""

from concurrent import futures
import json
import pathlib
from typing import Any
import unittest
from unittest import mock

from lab.nodes import addons
from lab.nodes import balancers
from lab.nodes import wishes
from lab.tests import base

_NOTE = "addons.stackhpc.com/handle_addon_updated"
_BACKEND = """\
frontend l
    bind 10.0.0.1:6443
    timeout client 50000
    acl allowed src 192.0.2.0/24 10.0.0.0/24
    tcp-request connection reject if !allowed
    default_backend p

backend p
    balance roundrobin
    timeout server 60000
    timeout connect 5000
    load-server-state-from-file global
    timeout check 5s
    server m 10.0.0.5:6443 weight 1 check inter 10s fall 3 rise 2 port 30001
"""
#: A pool's monitor and protocol -> what is in the configuration.
_MONITORS = {
    (None, "TCP"): "weight 1\n",
    ("HTTP", "TCP"): "http-check expect rstatus 200|204\n",
    ("HTTPS", "TCP"): "check-ssl verify none port 30001\n",
    ("TLS-HELLO", "TCP"): "option ssl-hello-chk\n",
    (None, "PROXYV2"): "weight 1 send-proxy-v2\n",
}
_ADDON = {
    "kind": "Manifests",
    "metadata": {
        "name": "c-web",
        "namespace": "n",
        "uid": "u",
        "generation": 1,
        "finalizers": ["addons.stackhpc.com/finalizer"],
    },
    "spec": {
        "clusterName": "c",
        "targetNamespace": "web",
        "manifestSources": [{"template": "kind: {{ kind }}"}],
    },
}
_CLUSTER = {
    "metadata": {"name": "c", "namespace": "n"},
    "spec": {
        "infrastructureRef": {"name": "c"},
        "identityRef": {"name": "c"},
    },
    "status": {"initialization": {"controlPlaneInitialized": True}},
    "data": {"value": ""},
}


#: The address of a load balancer.
_PORT = wishes.Port(
    id="509fb6a0-f4cc-492f-8af5-03dd588677d5",
    network="9315b1f3-dc77-4b0d-9930-fd024fcc7e9d",
    mac="fa:16:3e:e1:45:95",
    owner="Octavia",
    device="lb",
    status="DOWN",
    address="10.0.0.1",
    cidr="10.0.0.0/24",
    gateway="10.0.0.1",
    name="",
    external=False,
)


class BalancerTest(unittest.TestCase):
    def configured(
        self, cidrs: list[str], kind: str | None, protocol: str = "TCP"
    ) -> str:
        (found,) = balancers.namespaces(
            "l1",
            pathlib.Path("/run/lab"),
            "ext",
            {"b": _PORT},
            [],
            [wishes.Listener("l", "b", 6443, "p", -1, 50000, 60000, 5000)],
            {"l": cidrs},
            [
                wishes.Pool(
                    *("p", "b", protocol, "ROUND_ROBIN", None, kind),
                    *(10, 5, 2, 3, "GET", "/healthz", "200,204"),
                )
            ],
            [wishes.Member("m", "p", "10.0.0.5", 6443, 1, False, "", 30001)],
        )
        return found.haproxy.partition("timeout connect 5s\n\n")[2]

    def test_a_listener_is_a_frontend_and_a_pool_a_backend(self) -> None:
        cidrs = ["192.0.2.0/24", "10.0.0.0/24"]
        self.assertEqual(_BACKEND, self.configured(cidrs, "TCP"))
        self.assertNotIn("allowed", self.configured([], None))
        for (kind, protocol), line in _MONITORS.items():
            self.assertIn(line, self.configured([], kind, protocol))

    def test_states_of_members_are_octavias(self) -> None:
        self.assertEqual(
            {"a": "ONLINE", "b": "ERROR", "c": "NO_MONITOR", "d": "ONLINE"},
            balancers.parse(
                "# pxname,svname,status\n"
                "l,FRONTEND,OPEN\n"
                "p,a,UP\np,b,DOWN\np,c,no check\np,d,UP 1/3\n"
                "p,BACKEND,UP\n"
            ),
        )


class AddonTest(base.LabCase):
    """The phases of Manifests are those of the addon provider."""

    def look(self, before: str, error: Exception | None = None) -> list[Any]:
        """Return the phases and notes that follow; it had a phase before."""
        management = mock.Mock(spec=addons.Management)
        management.get.return_value = self.cluster
        status = {"phase": before, "failureMessage": ""}
        management.all.side_effect = [[], [{**_ADDON, "status": status}]]
        installer = addons.Installer(management, self.folder, self.folder)
        with (
            mock.patch.object(addons, "_helm", side_effect=error),
            futures.ThreadPoolExecutor(1) as pool,
        ):
            installer.look(pool)
        changes = [each.args[1] for each in management.patch.mock_calls]
        notes = [
            each["metadata"]["annotations"].get(_NOTE)
            for each in changes
            if "metadata" in each
        ]
        phases = [
            each["status"]["phase"] for each in changes if "status" in each
        ]
        return [*phases, *filter(None, notes)]

    def test_an_addon_is_installed_and_tells_how_it_ended(self) -> None:
        self.cluster = _CLUSTER
        installed = ["Installing", "Deployed"]
        self.assertEqual(installed, self.look("Pending"))
        self.assertEqual(installed, self.look("Deployed"))
        failed = self.look("Deployed", addons.AddonError("helm: no"))
        self.assertEqual(["Installing", "Failed"], failed)
        # A wait in vain leaves the phase and a note.
        late = addons.LateError("context deadline exceeded")
        phase, note = self.look("Deployed", late)
        self.assertEqual("Installing", phase)
        self.assertEqual(
            {"retries": 1, "success": False, "message": str(late)},
            json.loads(note),
        )

    def test_an_addon_waits_for_the_clusters_api(self) -> None:
        self.cluster = {**_CLUSTER, "status": {}}
        self.assertEqual([], self.look("Pending"))
