# SPDX-License-Identifier: Apache-2.0

"""``magnum-capi-helm metrics``: what it reads, prints and writes."""

from __future__ import annotations

import pathlib
from typing import Any

import fixtures

from magnum_capi_helm.config import conf
from magnum_capi_helm.kubernetes import kinds
from magnum_capi_helm.kubernetes import responses
from magnum_capi_helm.model import errors
from magnum_capi_helm.tests.unit.cli import measured
from magnum_capi_helm.tests.unit.lifecycle import base
from magnum_capi_helm.tests.unit.lifecycle import placing
from magnum_capi_helm.tests.unit.metrics import promtool


class MetricsTest(measured.MetricsTestCase):
    def test_a_cluster_that_is_well(self) -> None:
        self.health_poll()
        uuid = f"'uuid': '{self.uuid}'"
        found = measured.printed()
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
            code, _, stderr = measured.run()
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
                ("get", "Secret", measured.SECRET),
            ],
            [tuple(each) for each in self.management.requests],
        )

    def test_a_failed_addon_is_counted_by_its_phase(self) -> None:
        before = measured.printed()["cluster_addons"]
        self.assertEqual(1, len(before))
        self.capi.fail_addon("cloud-config", "no")
        self.assertIn(
            f"{{'phase': 'Failed', 'uuid': '{self.uuid}'}} 1.0",
            measured.printed()["cluster_addons"],
        )

    def test_a_dead_credential_has_a_sample(self) -> None:
        self.openstack.credentials.clear()
        self.health_poll()
        self.plane.clock.advance(3600)
        self.health_poll()
        self.assertEqual(
            [f"{{'uuid': '{self.uuid}'}} 1.0"],
            measured.printed()["cluster_credential_refused"],
        )

    def test_a_credential_that_nobody_tries_is_no_good_one(self) -> None:
        self.assertNotIn("cluster_credential_refused", measured.printed())
        conf.CONF.set_override("app_cred_check_interval", 0, "capi_helm")
        self.health_poll()
        self.assertNotIn("cluster_credential_refused", measured.printed())

    def test_a_lease_that_is_held(self) -> None:
        moment = {"holderIdentity": "x", "renewTime": "2026-01-01T00:00:00Z"}
        where = (kinds.LEASE, base.NAMESPACE, base.RELEASE)
        self.server.patch(*where, {"spec": moment})
        (line,) = measured.printed()["lease_renewed_timestamp_seconds"]
        self.assertTrue(line.endswith(" 1767225600.0"), line)
        # That is another cloud's.
        conf.CONF.set_override("namespace_prefix", "east", "capi_helm")
        self.assertNotIn("lease_renewed_timestamp_seconds", measured.printed())

    def test_leases_that_may_not_be_listed(self) -> None:
        self.management.fail(
            responses.ForbiddenError("forbidden"), kind=kinds.LEASE
        )
        code, text, stderr = measured.run()
        self.assertEqual((1, "leases: forbidden\n"), (code, stderr))
        self.assertIn(
            'read_success{management_cluster="",part="leases"} 0.0', text
        )
        self.assertIn("cluster_addons", text)

    def test_namespaces_are_read_one_by_one_where_it_has_to_be(self) -> None:
        expected = measured.run()[1]
        original = self.management.list

        def refused(
            kind: kinds.Kind, namespace: str | None, *args: Any, **options: Any
        ) -> Any:
            if namespace is None:
                raise responses.ForbiddenError("forbidden")
            return original(kind, namespace, *args, **options)

        self.management.list = refused  # type: ignore[method-assign]
        self.assertEqual((0, expected, ""), measured.run())

    def test_a_release_without_a_row_counts_as_an_orphan(self) -> None:
        for each in self.groups().values():
            each.destroy()
        self.row().destroy()
        self.assertEqual(
            ["{'management_cluster': ''} 1.0"], measured.printed()["orphans"]
        )

    def test_without_a_management_cluster_the_rows_are_left(self) -> None:
        self.management.unreachable()
        code, text, stderr = measured.run()
        self.assertEqual(1, code)
        self.assertIn("does not answer", stderr)
        self.assertIn('cluster_up{management_cluster=""} 0.0', text)
        self.assertIn('state="unreachable"', text)
        self.assertIn('clusters{status="CREATE_COMPLETE"} 1.0', text)
        self.assertNotIn("orphans", text)
        # Nobody waits for one that is silent, time and again.
        self.assertNotIn('part="leases"', text)

    def test_prometheus_takes_it(self) -> None:
        text = measured.run()[1]
        self.assertEqual("", promtool.run(self, "check", "metrics", text=text))

    def test_the_output_may_be_a_file(self) -> None:
        directory = self.useFixture(fixtures.TempDir()).path
        path = pathlib.Path(directory) / "magnum.prom"
        self.assertEqual((0, "", ""), measured.run("--output", str(path)))
        self.assertEqual(measured.run()[1], path.read_text())
        self.assertEqual(0o644, path.stat().st_mode & 0o777)

    def test_a_file_that_nobody_would_read_or_that_can_not_be(self) -> None:
        error = self.assertRaises(
            errors.InvalidInput, measured.run, "--output", "/tmp/x.txt"
        )
        self.assertRegex(
            str(error),
            "^--output '/tmp/x.txt' .* name ends with .prom$",
        )
        error = self.assertRaises(
            errors.InvalidInput,
            measured.run,
            "--output",
            "/nowhere/x.prom",
        )
        self.assertEqual(
            "--output /nowhere/x.prom can't be written: No such file or "
            "directory",
            str(error),
        )


class MetricsOfSeveralTest(placing.LocationTestCase):
    """Two management clusters, and a cluster on b."""

    def test_each_is_named_and_one_that_is_down_too(self) -> None:
        self.made()
        self.stop("a")
        code, text, stderr = measured.run()
        self.assertEqual(1, code)
        self.assertTrue(stderr.startswith("a: "), stderr)
        for expected in (
            'management_cluster_up{management_cluster="a"} 0.0',
            'management_cluster_up{management_cluster="b"} 1.0',
            'orphans{management_cluster="b"} 0.0',
            'read_success{management_cluster="b",part="leases"} 1.0',
        ):
            self.assertIn(measured.PREFIX + expected, text)
        self.assertNotIn('orphans{management_cluster="a"}', text)
