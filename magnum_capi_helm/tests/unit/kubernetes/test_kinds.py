# SPDX-License-Identifier: Apache-2.0

"""Kinds: their names in paths, and the kinds of rendered objects."""

from __future__ import annotations

from oslotest import base

from magnum_capi_helm.kubernetes import kinds

RENDERED: tuple[tuple[str, str, tuple[str, str, str] | None], ...] = (
    (
        *("cluster.x-k8s.io/v1beta1", "MachineDeployment"),
        ("cluster.x-k8s.io", "machinedeployments", "v1beta1"),
    ),
    ("apps/v1", "Deployment", ("apps", "deployments", "v1")),
    ("v1", "Secret", ("", "secrets", "v1")),
    # Not what it is called, but what it is.
    ("example.org/v1", "Secret", None),
    ("source.toolkit.fluxcd.io/v1", "GitRepository", None),
)


class KindsTest(base.BaseTestCase):
    def test_a_rendered_kind_is_in_the_version_of_its_manifest(self) -> None:
        for version, name, expected in RENDERED:
            with self.subTest(f"{version} {name}"):
                found = kinds.rendered({"apiVersion": version, "kind": name})
                self.assertEqual(
                    expected,
                    found and (found.group, found.plural, found.versions[0]),
                )

    def test_its_version_is_never_exchanged_for_another(self) -> None:
        obj = {"apiVersion": "cluster.x-k8s.io/v1beta1", "kind": "Cluster"}
        found = kinds.rendered(obj)
        assert found is not None
        self.assertTrue(found.fixed)

    def test_plural_is_the_name_in_paths(self) -> None:
        for name, plural in (
            ("Lease", "leases"),
            ("Manifests", "manifests"),
            ("NetworkPolicy", "networkpolicies"),
        ):
            with self.subTest(name):
                self.assertEqual(plural, kinds.Kind(name, "", ()).plural)

    def test_the_driver_reads_no_kind_of_other_programs(self) -> None:
        """It does not wait for objects that it did not render."""
        self.assertNotIn("HelmChartProxy", {each.name for each in kinds.ALL})
