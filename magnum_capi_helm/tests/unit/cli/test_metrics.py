# SPDX-License-Identifier: Apache-2.0

"""``magnum-capi-helm metrics``: what it reads, prints and writes."""

from __future__ import annotations

import base64
import io
import json
import pathlib
from typing import Any

from cryptography import x509
import fixtures

from magnum_capi_helm.cli import metrics
from magnum_capi_helm.config import conf
from magnum_capi_helm.kubernetes import kinds
from magnum_capi_helm.kubernetes import responses
from magnum_capi_helm.model import errors
from magnum_capi_helm.model import names
from magnum_capi_helm.tests.unit.cli import command_case
from magnum_capi_helm.tests.unit.delivery import pki
from magnum_capi_helm.tests.unit.lifecycle import base
from magnum_capi_helm.tests.unit.lifecycle import placing
from magnum_capi_helm.tests.unit.metrics import promtool

PREFIX = "magnum_capi_helm_"
SECRET = names.kubeconfig(base.RELEASE)


def run(*argv: str) -> tuple[int, str, str]:
    out, err = io.StringIO(), io.StringIO()
    code = command_case.run(metrics.Metrics, *argv, out=out, err=err)
    return code, out.getvalue(), err.getvalue()


def printed() -> promtool.Found:
    """The samples that it prints, by the end of their metric's name."""
    return {
        name.removeprefix(PREFIX): [
            each.removeprefix(name) for each in samples
        ]
        for name, samples in promtool.parsed(run()[1]).items()
    }


class MetricsTest(command_case.ListTestCase):
    def test_a_cluster_that_is_well(self) -> None:
        self.health_poll()
        uuid = f"'uuid': '{self.uuid}'"
        found = printed()
        changed = self.row().updated_at.timestamp()
        for name, expected in (
            ("management_cluster_up", "{'management_cluster': ''} 1.0"),
            ("orphans", "{'management_cluster': ''} 0.0"),
            (
                "cluster_info",
                "{'chart': '0.27.0', 'management_cluster': '', "
                "'name': 'web', 'project_id': 'fake_project', "
                f"'release': '{base.RELEASE}', {uuid}, "
                f"'version': '{self.row().coe_version}'}} 1.0",
            ),
            (
                "cluster_status_timestamp_seconds",
                f"{{'status': 'CREATE_COMPLETE', {uuid}}} {changed}",
            ),
            ("cluster_state", f"{{'state': 'ok', {uuid}}} 1.0"),
            ("cluster_credential_refused", f"{{{uuid}}} 0.0"),
        ):
            self.assertEqual([expected], found[name])
        self.assertEqual(5, len(found["read_success"]))
        self.assertNotIn("lease_renewed_timestamp_seconds", found)

    def test_the_command_sends_reads_alone(self) -> None:
        self.management.requests.clear()
        self.openstack.stop("http://keystone.test")
        with self.saves() as saved:
            code, _, stderr = run()
        self.assertEqual((0, "", []), (code, stderr, saved))
        # The Secret at the end is the one of the one cluster.
        self.assertEqual(
            [
                ("get", "Namespace", "kube-system"),
                ("list", "Cluster", ""),
                ("list", "Secret", ""),
                ("list", "HelmRelease", ""),
                ("list", "Manifests", ""),
                ("list", "Machine", ""),
                ("list", "Lease", ""),
                ("get", "Secret", SECRET),
            ],
            [tuple(each) for each in self.management.requests],
        )

    def test_a_credential_has_a_sample_once_it_was_tried(self) -> None:
        name = "cluster_credential_refused"
        self.set_option(app_cred_check_interval=0)
        self.health_poll()
        self.assertNotIn(name, printed())
        conf.CONF.clear_override("app_cred_check_interval", "capi_helm")
        self.openstack.credentials.clear()
        self.plane.clock.advance(3600)
        self.health_poll()
        self.assertEqual([f"{{'uuid': '{self.uuid}'}} 1.0"], printed()[name])

    def test_leases_that_may_not_be_listed(self) -> None:
        self.fails(
            kind=kinds.LEASE, error=responses.ForbiddenError("forbidden")
        )
        code, text, stderr = run()
        self.assertEqual((1, "leases: forbidden\n"), (code, stderr))
        self.assertIn(
            'read_success{management_cluster="",part="leases"} 0.0', text
        )
        self.assertIn("cluster_addons", text)

    def test_namespaces_are_read_one_by_one_where_it_has_to_be(self) -> None:
        expected = run()[1]
        command_case.refuse_all_namespaces(self.management)
        self.assertEqual((0, expected, ""), run())

    def test_without_a_management_cluster_the_rows_are_left(self) -> None:
        self.management.unreachable()
        code, text, stderr = run()
        self.assertEqual(1, code)
        self.assertIn("does not answer", stderr)
        self.assertIn('cluster_up{management_cluster=""} 0.0', text)
        self.assertIn('state="unreachable"', text)
        self.assertIn('clusters{status="CREATE_COMPLETE"} 1.0', text)
        self.assertNotIn("orphans", text)
        # Nobody waits for one that is silent, time and again.
        self.assertNotIn('part="leases"', text)

    def test_the_output_may_be_a_file(self) -> None:
        directory = self.useFixture(fixtures.TempDir()).path
        path = pathlib.Path(directory) / "magnum.prom"
        self.assertEqual((0, "", ""), run("--output", str(path)))
        self.assertEqual(run()[1], path.read_text())
        self.assertEqual(0o644, path.stat().st_mode & 0o777)
        error = self.assertRaises(
            errors.InvalidInput, run, "--output", "/nowhere/x.prom"
        )
        self.assertEqual(
            "--output /nowhere/x.prom can't be written: No such file or "
            "directory",
            str(error),
        )

    def test_each_certificate_has_its_time_of_expiry(self) -> None:
        pems = [pki.Authority(days=days).pem for days in (1000.0, 600.0)]
        first, second = (base64.b64encode(e.encode()).decode() for e in pems)
        user = {"client-certificate-data": second, "client-key-data": ""}
        document = {
            "clusters": [{"cluster": {"certificate-authority-data": first}}],
            "users": [{"user": user}],
        }
        self.server.create(kinds.SECRET, kubeconfig(document))
        (machine,) = self.server.list(
            kinds.MACHINE, base.NAMESPACE, "cluster.x-k8s.io/control-plane"
        )
        status = machine["status"]
        status |= {"certificatesExpiryDate": "1970-01-01T02:00:00Z"}
        name = machine["metadata"]["name"]
        self.server.set_status(kinds.MACHINE, base.NAMESPACE, name, status)
        ends = [
            x509.load_pem_x509_certificate(each.encode()).not_valid_after_utc
            for each in pems
        ]
        self.assertEqual(
            [
                f"{{'certificate': '{name}', 'uuid': '{self.uuid}'}} {moment}"
                for name, moment in (
                    ("control-plane", 7200.0),
                    ("ca", ends[0].timestamp()),
                    ("kubeconfig", ends[1].timestamp()),
                )
            ],
            printed()["cluster_certificate_expiry_timestamp_seconds"],
        )

    def test_a_kubeconfig_that_is_none_hides_nothing_else(self) -> None:
        failed = 'read_success{management_cluster="",part="kubeconfigs"} 0.0'
        documents: tuple[Any, ...] = ("x", {}, {"clusters": [], "users": []})
        for document in documents:
            self.server.apply(kinds.SECRET, kubeconfig(document))
            code, text, stderr = run()
            self.assertEqual(1, code)
            self.assertRegex(
                stderr,
                rf"\Akubeconfigs: the Secret {SECRET} has no "
                r"kubeconfig with certificates \(\w+\)\n\Z",
            )
            self.assertIn(failed, text)
            self.assertIn('state="ok"', text)


class MetricsOfSeveralTest(placing.LocationTestCase):
    def test_each_is_named_and_one_that_is_down_too(self) -> None:
        self.made()
        self.stop("a")
        code, text, stderr = run()
        self.assertEqual(1, code)
        self.assertTrue(stderr.startswith("a: "), stderr)
        for expected in (
            'management_cluster_up{management_cluster="a"} 0.0',
            'management_cluster_up{management_cluster="b"} 1.0',
            'orphans{management_cluster="b"} 0.0',
            'read_success{management_cluster="b",part="leases"} 1.0',
        ):
            self.assertIn(PREFIX + expected, text)
        self.assertNotIn('orphans{management_cluster="a"}', text)


def kubeconfig(document: Any) -> dict[str, Any]:
    text = json.dumps(document).encode()
    return {
        "metadata": {"name": SECRET, "namespace": base.NAMESPACE},
        "data": {"value": base64.b64encode(text).decode()},
    }
