# SPDX-License-Identifier: Apache-2.0

"""Pure parts of machines that run: rules, configurations and images."""

from concurrent import futures
import io
import json
import os
import pathlib
import re
import tarfile
import tempfile
import unittest
from unittest import mock

from lab import errors
from lab import layout
from lab.commands import up
from lab.nodes import addons
from lab.nodes import balancers
from lab.nodes import containers
from lab.nodes import names
from lab.nodes import programs
from lab.nodes import wishes

_NOTE = "addons.stackhpc.com/handle_addon_updated"
_ROUTER = "a5c5522e-b222-4444-8888-000000000001"
_NETWORK = "9315b1f3-dc77-4b0d-9930-fd024fcc7e9d"
_PORT = "509fb6a0-f4cc-492f-8af5-03dd588677d5"
_MAC = "fa:16:3e:e1:45:95"


def port(**changed: str | bool | None) -> wishes.Port:
    """Return a port of a router in a tenant's network."""
    fields = {
        "id": _PORT,
        "network": _NETWORK,
        "mac": _MAC,
        "owner": "network:router_interface",
        "device": _ROUTER,
        "status": "DOWN",
        "address": "10.0.0.1",
        "cidr": "10.0.0.0/24",
        "gateway": "10.0.0.1",
        "name": "",
        "external": False,
    }
    return wishes.Port(**(fields | changed))  # type: ignore[arg-type]


class NamesTest(unittest.TestCase):
    def test_links_have_at_most_15_characters(self) -> None:
        for name in (
            names.network_bridge("l857", _NETWORK),
            names.machine_link("l857", _PORT),
        ):
            self.assertEqual(15, len(name))

    def test_each_kind_has_a_letter(self) -> None:
        self.assertEqual(
            ["l1net", "l1ma5c5522eb2", "l1ra5c5522eb2", "l1la5c5522eb2"],
            [
                names.switch_namespace("l1"),
                names.machine_namespace("l1", _ROUTER),
                names.router_namespace("l1", _ROUTER),
                names.balancer_namespace("l1", _ROUTER),
            ],
        )


class RouterTest(unittest.TestCase):
    def test_a_router_without_a_gateway_only_routes(self) -> None:
        (found,) = wishes.routers("l1", [port()], [], "l1ext")
        self.assertEqual(
            wishes.Namespace(
                name="l1ra5c5522eb2",
                legs=(
                    wishes.Leg(
                        name="i0",
                        outer="l1p509fb6a0f4",
                        mac=_MAC,
                        bridge="l1b9315b1f3dc",
                        addresses=frozenset({"10.0.0.1/24"}),
                    ),
                ),
                gateway=None,
            ),
            found,
        )

    def test_floating_ips_are_addresses_of_the_external_leg(self) -> None:
        outside = port(
            id="24cc7d5d-ef00-4000-8000-000000000002",
            network="public",
            owner="network:router_gateway",
            address="203.0.113.20",
            cidr="203.0.113.0/24",
            gateway="203.0.113.1",
        )
        floating = wishes.FloatingIp(
            "f", "203.0.113.7", "10.0.0.5", _ROUTER, "DOWN"
        )
        (found,) = wishes.routers("l1", [port(), outside], [floating], "l1ext")
        leg = found.legs[1]
        self.assertEqual(
            ("external", "l1ext", True), (leg.name, leg.bridge, leg.external)
        )
        self.assertEqual(
            {"203.0.113.20/24", "203.0.113.7/32"}, {*leg.addresses}
        )
        self.assertEqual("203.0.113.1", found.gateway)
        self.assertEqual(
            """\
table ip nat
delete table ip nat
table ip nat {
  chain prerouting {
    type nat hook prerouting priority dstnat
    ip daddr 203.0.113.7 dnat to 10.0.0.5
  }
  chain postrouting {
    type nat hook postrouting priority srcnat
    oifname != "external" ct status dnat ip saddr 10.0.0.0/24 \
snat to 203.0.113.20
    oifname "external" ip saddr 10.0.0.5 snat to 203.0.113.7
    oifname "external" snat to 203.0.113.20
  }
}
""",
            found.rules,
        )

    def test_servers_ports_go_to_the_bridge_of_their_network(self) -> None:
        server = port(owner="compute:nova", device="s")
        self.assertEqual(
            {"l1p509fb6a0f4": "l1b9315b1f3dc"},
            wishes.servers("l1", [server, port()]),
        )


class BalancerTest(unittest.TestCase):
    def configured(
        self, cidrs: list[str], kind: str | None, protocol: str = "TCP"
    ) -> str:
        (found,) = balancers.namespaces(
            "l1",
            pathlib.Path("/run/lab"),
            "ext",
            {"b": port(owner="Octavia", address="10.0.0.9")},
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
        self.assertEqual(
            """\
frontend l
    bind 10.0.0.9:6443
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
""",
            self.configured(["192.0.2.0/24", "10.0.0.0/24"], "TCP"),
        )

    def test_a_vip_elsewhere_has_a_port_in_the_members_network(self) -> None:
        vip = port(
            id="7c5f2d6e-1111",
            owner="Octavia",
            address="198.51.100.9",
            cidr="198.51.100.0/24",
            network="outside",
            external=True,
            gateway="198.51.100.1",
        )
        ports = [
            port(owner="Octavia", name="octavia-lb-member-b"),
            port(owner="Octavia", name="octavia-lb-member-c"),
        ]
        (found,) = balancers.namespaces(
            "l1",
            pathlib.Path("/run"),
            "ext",
            {"b": vip},
            ports,
            [],
            {},
            [],
            [],
        )
        self.assertEqual("198.51.100.1", found.gateway)
        self.assertEqual(
            [
                ("vip", "ext", {"198.51.100.9/24"}, True),
                ("m0", "l1b9315b1f3dc", {"10.0.0.1/24"}, False),
            ],
            [
                (each.name, each.bridge, set(each.addresses), each.external)
                for each in found.legs
            ],
        )

    def test_without_cidrs_all_may_connect(self) -> None:
        self.assertNotIn("allowed", self.configured([], None))

    def test_monitors_and_protocols(self) -> None:
        rows = {
            (None, "TCP"): "weight 1\n",
            ("HTTP", "TCP"): "http-check expect rstatus 200|204\n",
            ("HTTPS", "TCP"): "check-ssl verify none port 30001\n",
            ("TLS-HELLO", "TCP"): "option ssl-hello-chk\n",
            (None, "PROXYV2"): "weight 1 send-proxy-v2\n",
        }
        for (kind, protocol), line in rows.items():
            with self.subTest(kind=kind, protocol=protocol):
                self.assertIn(line, self.configured([], kind, protocol))

    def test_states_before_a_reload_are_in_a_file(self) -> None:
        folder = pathlib.Path("/run/b")
        self.assertIn(
            f"    server-state-file {balancers.state_file(folder)}\n",
            balancers._head(folder),
        )

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


class ImageTest(unittest.TestCase):
    def test_an_image_has_one_layer_with_files_and_links(self) -> None:
        image = containers.Image(
            names=("registry.test/web:v1",),
            files={"usr/bin/web": b"program"},
            entrypoint=("web",),
            links={"bin": "usr/bin"},
            user="65535",
        )
        with tempfile.TemporaryDirectory() as folder:
            file = pathlib.Path(folder, "image.tar")
            containers.write([image], file)
            with tarfile.open(file) as archive:
                content = {
                    each.name: archive.extractfile(each).read()  # type: ignore[union-attr]
                    for each in archive
                }
        (manifest,) = json.loads(content["manifest.json"])
        self.assertEqual(["registry.test/web:v1"], manifest["RepoTags"])
        config = json.loads(content[manifest["Config"]])["config"]
        self.assertEqual(
            (["web"], "65535"), (config["Entrypoint"], config["User"])
        )
        (layer,) = manifest["Layers"]
        with tarfile.open(fileobj=io.BytesIO(content[layer])) as archive:
            kinds = {each.name: each.linkname for each in archive}
        self.assertEqual("usr/bin", kinds["bin"])
        self.assertEqual("", kinds["usr/bin/web"])


class ProgramTest(unittest.TestCase):
    def setUp(self) -> None:
        folder = self.enterContext(tempfile.TemporaryDirectory())
        state = pathlib.Path(folder)
        self.enterContext(mock.patch.object(layout, "STATE", state))

    def versions(self, wanted: str) -> list[str]:
        with mock.patch.dict(os.environ, LAB_KUBERNETES=wanted):
            return programs.kubernetes()

    def test_machines_have_one_version_of_kubernetes_or_all(self) -> None:
        self.assertEqual(["v1.35.4", "v1.36.3"], self.versions(""))
        self.assertEqual(["v1.35.4"], self.versions("1.35"))
        with self.assertRaisesRegex(errors.LabError, "1.3, .* v1.35.4"):
            self.versions("1.3")

    def test_older_versions_are_built_until_they_are_refused(self) -> None:
        newer = {each.path for each in programs.of_machines()}
        programs.choose(minors=True)
        self.assertEqual(
            ["v1.33.13", "v1.34.4", "v1.35.4", "v1.36.3"], self.versions("")
        )
        self.assertEqual(["v1.33.13"], self.versions("1.33"))
        found = {each.path for each in programs.of_machines()}
        self.assertLess(newer, found)
        programs.choose(minors=False)
        self.assertEqual(["v1.35.4", "v1.36.3"], self.versions(""))

    def test_the_cloud_gets_the_images_of_another_choice(self) -> None:
        (layout.STATE / "with-nodes").write_text("yes")
        before = up._fill_stamp()
        programs.choose(minors=None)
        self.assertEqual(before, up._fill_stamp())
        programs.choose(minors=True)
        self.assertNotEqual(before, up._fill_stamp())

    def test_kubernetes_1_33_alone_has_an_etcd_of_its_own(self) -> None:
        programs.choose(minors=True)
        shared = layout.BIN / "etcd"
        self.assertEqual(
            {
                "v1.33.13": programs.BIN / "v1.33.13" / "etcd",
                "v1.34.4": shared,
                "v1.35.4": shared,
                "v1.36.3": shared,
            },
            {each: programs.etcd(each) for each in programs.kubernetes()},
        )
        built = [
            (each.path, each.module.name)
            for each in programs.of_machines()
            if each.package.startswith("go.etcd.io/")
        ]
        self.assertEqual([("v1.33.13/etcd", "1.33")], built)

    def test_libraries_of_a_module_are_of_its_kubernetes(self) -> None:
        programs.choose(minors=True)
        kubelets = {
            each.path: each.module
            for each in programs.of_machines()
            if each.path.endswith("/kubelet")
        }
        for version in programs.kubernetes():
            module = kubelets[f"{version}/kubelet"]
            text = (module / "go.mod").read_text()
            replaced = re.findall(r"k8s\.io/\S+ => k8s\.io/\S+ (\S+)", text)
            self.assertEqual({f"v0{version[2:]}"}, set(replaced))
            self.assertTrue((module / "go.sum").exists(), version)

    def test_tests_of_clusters_are_those_of_the_newest_version(self) -> None:
        for wanted, module in ("", "1.36"), ("1.35", "plane"):
            with mock.patch.dict(os.environ, LAB_KUBERNETES=wanted):
                found = [each.module for each in programs.of_conformance()]
            self.assertEqual({module}, {each.name for each in found})


class AddonTest(unittest.TestCase):
    """The phases of Manifests, one after the other."""

    def setUp(self) -> None:
        self.addon = {
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
        self.phases: list[str] = []
        self.notes: list[str] = []
        self.management = mock.Mock(spec=addons.Management)
        self.management.get.return_value = {
            "metadata": {"name": "c", "namespace": "n"},
            "spec": {
                "infrastructureRef": {"name": "c"},
                "identityRef": {"name": "c"},
            },
            "status": {"initialization": {"controlPlaneInitialized": True}},
            "data": {"value": ""},
        }
        self.management.patch.side_effect = self.patched

    def patched(
        self, addon: addons.Object, change: addons.Object, part: str = ""
    ) -> None:
        if part:
            self.phases.append(change["status"]["phase"])
        else:
            annotations = change["metadata"]["annotations"]
            self.notes.append(annotations.get(_NOTE))

    def look(self, phase: str, error: Exception | None = None) -> None:
        """Look at it once; it had a phase before."""
        status = {"phase": phase, "failureMessage": ""}
        found = {**self.addon, "status": status}
        self.management.all.side_effect = [[], [found]]
        with tempfile.TemporaryDirectory() as name:
            folder = pathlib.Path(name)
            installer = addons.Installer(self.management, folder, folder)
            with (
                mock.patch.object(addons, "_helm", side_effect=error),
                futures.ThreadPoolExecutor(1) as pool,
            ):
                installer.look(pool)

    def test_it_is_installed(self) -> None:
        self.look("Pending")
        self.assertEqual(["Installing", "Deployed"], self.phases)

    def test_one_that_changes_is_deployed_again(self) -> None:
        self.look("Deployed")
        self.assertEqual(["Installing", "Deployed"], self.phases)

    def test_one_that_fails_says_so(self) -> None:
        self.look("Deployed", addons.AddonError("helm: no"))
        self.assertEqual(["Installing", "Failed"], self.phases)

    def test_a_wait_in_vain_leaves_the_phase_and_a_note(self) -> None:
        self.look("Deployed", addons.LateError("context deadline exceeded"))
        self.assertEqual(["Installing"], self.phases)
        self.assertEqual(
            {
                "retries": 1,
                "success": False,
                "message": "context deadline exceeded",
            },
            json.loads(self.notes[0]),
        )

    def test_it_waits_for_the_clusters_api(self) -> None:
        self.management.get.return_value["status"] = {}
        self.look("Pending")
        self.assertEqual([], self.phases)
