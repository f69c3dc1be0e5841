# SPDX-License-Identifier: Apache-2.0

import contextlib
import pathlib
import re
import shutil
import tempfile
import unittest
from unittest import mock

import yaml

from lab import cluster_api
from lab import layout
from lab import management
from lab import manifests
from lab import pki
from lab import planes
from lab import registry
from lab import service
from lab import stamps
from lab.nodes import mode

_CRD = {
    "kind": "CustomResourceDefinition",
    "metadata": {"name": "things.example.org"},
    "spec": {
        "versions": [
            {"name": "v1beta1", "served": True},
            {"name": "v1beta2", "served": True},
            {"name": "v1alpha4", "served": False},
        ]
    },
}
_HOOKS = {
    "kind": "ValidatingWebhookConfiguration",
    "metadata": {"name": "validating"},
    "webhooks": [{"clientConfig": {"service": {"path": "/validate-thing"}}}],
}


def _called(name: str) -> dict[str, service.Service]:
    """Program -> service of one management cluster."""
    plane = planes.named(name)
    return {
        one.name.removesuffix(plane.suffix): one
        for one in management.services(plane)
    }


class ApartTest(unittest.TestCase):
    def setUp(self) -> None:
        # Not the choice of the lab in this checkout.
        simulated = mock.patch.object(mode, "chosen", return_value=False)
        simulated.start()
        self.addCleanup(simulated.stop)

    def test_every_service_of_the_lab_has_ports_of_its_own(self) -> None:
        ports = [
            port
            for one in registry.everything().values()
            # Which runs in the place of Magnum's own programs.
            if one.name != "magnum"
            for port in one.ports
        ]
        self.assertEqual(sorted(set(ports)), sorted(ports))

    def test_both_run_the_same_programs_under_other_names(self) -> None:
        first, second = _called("a"), _called("b")
        self.assertEqual(list(first), list(second))
        for program, one in second.items():
            self.assertEqual(f"{program}-b", one.name)
            self.assertEqual(program, first[program].name)
            self.assertEqual(first[program].argv[0], one.argv[0])
            self.assertEqual(first[program].layer, one.layer)

    def test_no_port_or_file_of_the_one_is_told_to_the_other(self) -> None:
        first = " ".join(
            word for one in _called("a").values() for word in one.argv[1:]
        )
        second = " ".join(
            word for one in _called("b").values() for word in one.argv[1:]
        )
        place = re.compile(rf"[:=](\d{{4,5}})\b|({layout.STATE}/\S+)")
        told = [set(map("".join, place.findall(t))) for t in (first, second)]
        # They share the cloud.
        shared = {str(layout.CLOUDS_YAML)}
        self.assertEqual(shared, told[0] & told[1])
        self.assertIn("16443", told[0])
        self.assertIn("17443", told[1])

    def test_the_first_keeps_its_places(self) -> None:
        self.assertEqual(layout.KUBECONFIG, planes.FIRST.kubeconfig)
        self.assertEqual(layout.ETCD, planes.FIRST.etcd)
        self.assertEqual("https://127.0.0.1:16443", planes.FIRST.api)


class StateCase(unittest.TestCase):
    def setUp(self) -> None:
        stack = contextlib.ExitStack()
        self.addCleanup(stack.close)
        self.state = pathlib.Path(
            stack.enter_context(tempfile.TemporaryDirectory())
        )
        stack.enter_context(mock.patch.object(layout, "STATE", self.state))
        for name in ("KUBECONFIG", "PKI", "MANIFESTS", "CRDS", "RUN"):
            place = self.state / name.lower()
            stack.enter_context(mock.patch.object(layout, name, place))


class PkiTest(StateCase):
    def test_each_kubeconfig_trusts_its_own_authority_alone(self) -> None:
        found = {}
        for plane in planes.ALL:
            self.assertFalse(pki.ready(plane))
            pki.make(plane)
            self.assertTrue(pki.ready(plane))
            config = yaml.safe_load(plane.kubeconfig.read_text())
            cluster = config["clusters"][0]["cluster"]
            self.assertEqual(
                pki.encoded(plane.authority),
                cluster["certificate-authority-data"],
            )
            found[cluster["server"]] = cluster["certificate-authority-data"]
        self.assertEqual(
            ["https://127.0.0.1:16443", "https://127.0.0.1:17443"],
            sorted(found),
        )
        self.assertEqual(2, len(set(found.values())))

    def test_keys_are_their_owners_alone(self) -> None:
        pki.make(planes.SECOND)
        for path in (planes.SECOND.kubeconfig, *planes.SECOND.pki.iterdir()):
            self.assertEqual(0o600, path.stat().st_mode & 0o777, path.name)


class ManifestsTest(StateCase):
    def setUp(self) -> None:
        super().setUp()
        source = layout.CRDS / "kcp"
        (source / "webhooks").mkdir(parents=True)
        (source / "things.yaml").write_text(yaml.safe_dump(_CRD))
        hooks = source / "webhooks" / "manifests.yaml"
        hooks.write_text(yaml.safe_dump(_HOOKS))
        # Where stamps go is bound when their module is imported.
        written = mock.patch.object(stamps, "write")
        written.start()
        self.addCleanup(written.stop)

    def test_webhooks_are_where_the_managers_of_the_plane_listen(self) -> None:
        for plane, port in ((planes.FIRST, 9445), (planes.SECOND, 10445)):
            plane.pki.mkdir()
            plane.authority.write_text(f"authority of {plane.name}")
            manifests.write(plane)
            bundle = pki.encoded(plane.authority)
            crd = yaml.safe_load(
                (plane.manifests / "crd-kcp.yaml").read_text()
            )
            self.assertEqual(
                {
                    "url": f"https://127.0.0.1:{port}/convert",
                    "caBundle": bundle,
                },
                crd["spec"]["conversion"]["webhook"]["clientConfig"],
            )
            hook = yaml.safe_load(
                (plane.manifests / "webhook-kcp.yaml").read_text()
            )
            self.assertEqual(
                {
                    "url": f"https://127.0.0.1:{port}/validate-thing",
                    "caBundle": bundle,
                },
                hook["webhooks"][0]["clientConfig"],
            )
            manager = management.services(plane)[5]
            self.assertIn(f"--webhook-port={port}", manager.argv)

    def test_the_served_versions_are_those_of_the_choice(self) -> None:
        planes.FIRST.pki.mkdir()
        planes.FIRST.authority.write_text("authority")
        shutil.copytree(layout.CRDS, layout.STATE / "crds-1.14")
        for choice, served in (
            ("1.14", ["v1beta1", "v1beta2"]),
            ("v1beta2-only", ["v1beta2"]),
        ):
            cluster_api.CHOICE.write(choice)
            manifests.write(planes.FIRST)
            path = planes.FIRST.manifests / "crd-kcp.yaml"
            versions = yaml.safe_load(path.read_text())["spec"]["versions"]
            self.assertEqual(
                served, [each["name"] for each in versions if each["served"]]
            )


class InUseTest(StateCase):
    def setUp(self) -> None:
        super().setUp()
        layout.RUN.mkdir()

    def names(self) -> list[str]:
        return [one.name for one in registry.in_use()]

    def test_nobody_sees_a_second_one_who_did_not_ask_for_it(self) -> None:
        self.assertEqual([planes.FIRST], registry.planes_in_use())
        self.assertIn("kube-apiserver", self.names())
        self.assertNotIn("kube-apiserver-b", self.names())

    def test_one_that_died_in_part_is_still_in_use(self) -> None:
        # A record stays when its process dies; only stopping removes it.
        (layout.RUN / "etcd-b.pid").write_text("0 0")
        self.assertEqual(list(planes.ALL), registry.planes_in_use())
        self.assertIn("kube-apiserver-b", self.names())

    def test_its_services_are_controlled_by_their_names(self) -> None:
        self.assertEqual("labinfra-b", registry.get("labinfra-b").name)

    def test_one_management_cluster_is_all_its_services(self) -> None:
        self.assertEqual(
            {f"{program}-b" for program in _called("a")},
            {one.name for one in registry.chosen("b")},
        )
        self.assertIn("magnum", {one.name for one in registry.chosen(None)})
