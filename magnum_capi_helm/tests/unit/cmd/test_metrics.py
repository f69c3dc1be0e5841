# Licensed under the Apache License, Version 2.0 (the "License"); you may
# not use this file except in compliance with the License. You may obtain
# a copy of the License at
#
#      http://www.apache.org/licenses/LICENSE-2.0
#
# Unless required by applicable law or agreed to in writing, software
# distributed under the License is distributed on an "AS IS" BASIS, WITHOUT
# WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the
# License for the specific language governing permissions and limitations
# under the License.

"""``magnum-capi-helm metrics``: what it reads, prints and writes."""

from __future__ import annotations

import base64
import datetime
import io
import json
import pathlib
from typing import Any

from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509 import oid
import fixtures

from magnum_capi_helm import conf
from magnum_capi_helm import exceptions
from magnum_capi_helm import names
from magnum_capi_helm.cmd import main
from magnum_capi_helm.cmd import metrics
from magnum_capi_helm.management import answers
from magnum_capi_helm.management import kinds
from magnum_capi_helm.tests.unit.cmd import test_list
from magnum_capi_helm.tests.unit.flows import base
from magnum_capi_helm.tests.unit.flows import test_places
from magnum_capi_helm.tests.unit.metrics import promtool

PREFIX = "magnum_capi_helm_"
SECRET = names.kubeconfig(base.RELEASE)


def run(*argv: str) -> tuple[int, str, str]:
    """Exit code, output and errors of the command."""
    app = main.Application()
    app.stdout, app.stderr = io.StringIO(), io.StringIO()
    command = metrics.Metrics(app, None)
    code = command.run(command.get_parser("test").parse_args(list(argv)))
    return int(code), app.stdout.getvalue(), app.stderr.getvalue()


def printed() -> promtool.Found:
    """The samples that it prints, by the end of their metric's name."""
    return {
        name.removeprefix(PREFIX): [
            each.removeprefix(name) for each in samples
        ]
        for name, samples in promtool.parsed(run()[1]).items()
    }


def certificate(ends: datetime.datetime) -> str:
    """A certificate, in base64."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(oid.NameOID.COMMON_NAME, "x")])
    made = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(1)
        .not_valid_before(ends - datetime.timedelta(days=1))
        .not_valid_after(ends)
        .sign(key, hashes.SHA256())
    )
    pem = made.public_bytes(serialization.Encoding.PEM)
    return base64.b64encode(pem).decode()


def kubeconfig(release: str, document: Any) -> dict[str, Any]:
    """The Secret that Cluster API makes."""
    text = json.dumps(document).encode()
    return {
        "metadata": {
            "name": names.kubeconfig(release),
            "namespace": base.NAMESPACE,
        },
        "data": {"value": base64.b64encode(text).decode()},
    }


class MetricsTest(base.FlowTestCase):
    """One management cluster, and a cluster that is complete."""

    def setUp(self) -> None:
        super().setUp()
        self.complete()
        self.server.patch(
            kinds.CLUSTER, base.NAMESPACE, base.RELEASE, test_list.CHART
        )

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

    def test_nothing_but_reading_is_asked_for(self) -> None:
        self.management.requests.clear()
        self.openstack.stop("http://keystone.test")
        with self.saves() as saved:
            code, _, errors = run()
        self.assertEqual((0, "", []), (code, errors, saved))
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

    def test_an_addon_that_failed(self) -> None:
        before = printed()["cluster_addons"]
        self.assertEqual(1, len(before))
        self.capi.fail_addon("cloud-config", "no")
        self.assertIn(
            f"{{'phase': 'Failed', 'uuid': '{self.uuid}'}} 1.0",
            printed()["cluster_addons"],
        )

    def test_certificates_of_kubeconfig_and_control_plane(self) -> None:
        first = datetime.datetime(2031, 1, 1, tzinfo=datetime.timezone.utc)
        second = first - datetime.timedelta(days=400)
        document = {
            "clusters": [
                {"cluster": {"certificate-authority-data": certificate(first)}}
            ],
            "users": [
                {"user": {"client-certificate-data": certificate(second)}}
            ],
        }
        self.server.create(kinds.SECRET, kubeconfig(base.RELEASE, document))
        (machine,) = self.server.list(
            kinds.MACHINE, base.NAMESPACE, "cluster.x-k8s.io/control-plane"
        )
        status = {
            **machine["status"],
            "certificatesExpiryDate": "2027-01-01T00:00:00Z",
        }
        name = machine["metadata"]["name"]
        self.server.set_status(kinds.MACHINE, base.NAMESPACE, name, status)
        third = datetime.datetime(2027, 1, 1, tzinfo=datetime.timezone.utc)
        family = "cluster_certificate_expiry_timestamp_seconds"
        self.assertEqual(
            [
                f"{{'certificate': '{name}', 'uuid': '{self.uuid}'}} "
                f"{moment.timestamp()}"
                for name, moment in (
                    ("ca", first),
                    ("control-plane", third),
                    ("kubeconfig", second),
                )
            ],
            printed()[family],
        )

    def test_a_kubeconfig_that_is_none_hides_nothing_else(self) -> None:
        documents: tuple[Any, ...] = ("x", {}, {"clusters": [], "users": []})
        for document in documents:
            made = kubeconfig(base.RELEASE, document)
            self.server.apply(kinds.SECRET, made)
            code, text, errors = run()
            self.assertEqual(1, code)
            self.assertRegex(
                errors,
                rf"\Akubeconfigs: the Secret {SECRET} has no kubeconfig with "
                r"certificates \(\w+\)\n\Z",
            )
            self.assertIn(
                'read_success{management_cluster="",part="kubeconfigs"} 0.0',
                text,
            )
            self.assertIn('state="ok"', text)

    def test_a_dead_credential(self) -> None:
        self.openstack.credentials.clear()
        self.health_poll()
        self.plane.clock.advance(3600)
        self.health_poll()
        self.assertEqual(
            [f"{{'uuid': '{self.uuid}'}} 1.0"],
            printed()["cluster_credential_refused"],
        )

    def test_a_credential_that_nobody_tries_is_no_good_one(self) -> None:
        self.assertNotIn("cluster_credential_refused", printed())
        conf.CONF.set_override("app_cred_check_interval", 0, "capi_helm")
        self.health_poll()
        self.assertNotIn("cluster_credential_refused", printed())

    def test_a_lease_that_is_held(self) -> None:
        moment = {"holderIdentity": "x", "renewTime": "2026-01-01T00:00:00Z"}
        where = (kinds.LEASE, base.NAMESPACE, base.RELEASE)
        self.server.patch(*where, {"spec": moment})
        (line,) = printed()["lease_renewed_timestamp_seconds"]
        self.assertTrue(line.endswith(" 1767225600.0"), line)
        # That is another cloud's.
        conf.CONF.set_override("namespace_prefix", "east", "capi_helm")
        self.assertNotIn("lease_renewed_timestamp_seconds", printed())

    def test_leases_that_may_not_be_listed(self) -> None:
        self.management.fail(
            answers.ForbiddenError("forbidden"), kind=kinds.LEASE
        )
        code, text, errors = run()
        self.assertEqual((1, "leases: forbidden\n"), (code, errors))
        self.assertIn(
            'read_success{management_cluster="",part="leases"} 0.0', text
        )
        self.assertIn("cluster_addons", text)

    def test_namespaces_are_read_one_by_one_where_it_has_to_be(self) -> None:
        expected = run()[1]
        original = self.management.list

        def refused(
            kind: kinds.Kind, namespace: str | None, *args: Any, **options: Any
        ) -> Any:
            if namespace is None:
                raise answers.ForbiddenError("forbidden")
            return original(kind, namespace, *args, **options)

        self.management.list = refused  # type: ignore[method-assign]
        self.assertEqual((0, expected, ""), run())

    def test_what_magnum_lost_is_an_orphan(self) -> None:
        for each in self.groups().values():
            each.destroy()
        self.row().destroy()
        self.assertEqual(
            ["{'management_cluster': ''} 1.0"], printed()["orphans"]
        )

    def test_without_a_management_cluster_the_rows_are_left(self) -> None:
        self.management.unreachable()
        code, text, errors = run()
        self.assertEqual(1, code)
        self.assertIn("does not answer", errors)
        self.assertIn('cluster_up{management_cluster=""} 0.0', text)
        self.assertIn('state="unreachable"', text)
        self.assertIn('clusters{status="CREATE_COMPLETE"} 1.0', text)
        self.assertNotIn("orphans", text)
        # Nobody waits for one that is silent, time and again.
        self.assertNotIn('part="leases"', text)

    def test_prometheus_takes_it(self) -> None:
        text = run()[1]
        self.assertEqual("", promtool.run(self, "check", "metrics", text=text))

    def test_a_file_in_the_place_of_the_output(self) -> None:
        directory = self.useFixture(fixtures.TempDir()).path
        path = pathlib.Path(directory) / "magnum.prom"
        self.assertEqual((0, "", ""), run("--output", str(path)))
        self.assertEqual(run()[1], path.read_text())
        self.assertEqual(0o644, path.stat().st_mode & 0o777)

    def test_a_file_that_nobody_would_read_or_that_can_not_be(self) -> None:
        error = self.assertRaises(
            exceptions.InvalidInput, run, "--output", "/tmp/x.txt"
        )
        self.assertEqual(
            "--output '/tmp/x.txt' is not read by node_exporter: give a file "
            "whose name ends with .prom",
            str(error),
        )
        error = self.assertRaises(
            exceptions.InvalidInput, run, "--output", "/nowhere/x.prom"
        )
        self.assertEqual(
            "--output /nowhere/x.prom can't be written: No such file or "
            "directory",
            str(error),
        )


class MetricsOfSeveralTest(test_places.PlacesTestCase):
    """Two management clusters, and a cluster on b."""

    def test_each_is_named_and_one_that_is_down_too(self) -> None:
        self.made()
        self.stop("a")
        code, text, errors = run()
        self.assertEqual(1, code)
        self.assertTrue(errors.startswith("a: "), errors)
        for expected in (
            'management_cluster_up{management_cluster="a"} 0.0',
            'management_cluster_up{management_cluster="b"} 1.0',
            'orphans{management_cluster="b"} 0.0',
            'read_success{management_cluster="b",part="leases"} 1.0',
        ):
            self.assertIn(PREFIX + expected, text)
        self.assertNotIn('orphans{management_cluster="a"}', text)
