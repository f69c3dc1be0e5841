"""What the lab's chart promises about its objects, whatever they contain."""

import functools
from typing import Any

from oslotest import base

from magnum_capi_helm.tests.contract import rendering
from magnum_capi_helm.tests.fakes import chart as fake_chart

PREFIX = "capi.stackhpc.com"
CLUSTER_API = (
    "cluster.x-k8s.io",
    "bootstrap.cluster.x-k8s.io",
    "controlplane.cluster.x-k8s.io",
    "infrastructure.cluster.x-k8s.io",
)
OTHER_APIS = {
    "addons.stackhpc.com/v1alpha1",
    "apps/v1",
    "kustomize.toolkit.fluxcd.io/v1",
    "rbac.authorization.k8s.io/v1",
    "source.toolkit.fluxcd.io/v1",
    "v1",
}


@functools.cache
def rendered(name: str) -> rendering.Rendered:
    return rendering.render(rendering.load_values(name))


class InventoryTest(base.BaseTestCase):
    """Which objects there are."""

    def test_the_chart_of_the_fakes_makes_objects_of_this_one(self) -> None:
        values = rendering.load_values("plain")
        made = fake_chart.render("rel", rendering.NAMESPACE, values)
        self.assertLessEqual(
            set(rendering.Rendered(made).inventory()),
            set(rendered("plain").inventory()),
        )

    def test_kept_when_the_release_is_uninstalled(self) -> None:
        # Cluster API deletes these in its own order.
        kept = {
            item["kind"]
            for item in rendered("rich")
            if _annotations(item).get("helm.sh/resource-policy") == "keep"
        }
        self.assertEqual(
            {
                "KubeadmConfigTemplate",
                "KubeadmControlPlane",
                "OpenStackCluster",
                "OpenStackMachineTemplate",
                "Secret",
            },
            kept,
        )
        secrets = rendered("rich").of("Secret")
        self.assertEqual(
            ["rel-cloud-credentials"],
            [i["metadata"]["name"] for i in secrets if _annotations(i)],
        )


class LabelsTest(base.BaseTestCase):
    """By what clients find the objects."""

    def test_every_object_names_its_cluster(self) -> None:
        for name in rendering.value_files():
            for item in rendered(name):
                labels = item["metadata"]["labels"]
                self.assertEqual("rel", labels[f"{PREFIX}/cluster"])
                self.assertEqual("Helm", labels[f"{PREFIX}/managed-by"])
                self.assertIn(
                    labels["helm.sh/chart"],
                    {"openstack-cluster-0.27.0", "addons-0.27.0"},
                )

    def test_every_object_but_the_cluster_has_a_component(self) -> None:
        for item in rendered("rich"):
            if item["kind"] not in ("Cluster", "OpenStackCluster"):
                self.assertTrue(_label(item, "component"), item)

    def test_what_belongs_to_a_group_names_it(self) -> None:
        for group in ("default-worker", "scaled"):
            kinds = [
                item["kind"]
                for item in rendered("plain")
                if _label(item, "node-group") == group
            ]
            self.assertEqual(
                [
                    "KubeadmConfigTemplate",
                    "MachineDeployment",
                    "MachineHealthCheck",
                    "OpenStackMachineTemplate",
                ],
                sorted(kinds),
            )

    def test_machines_of_a_group(self) -> None:
        deployment = rendered("plain").get("MachineDeployment", "rel-scaled")
        labels = {
            f"{PREFIX}/cluster": "rel",
            f"{PREFIX}/component": "worker",
            f"{PREFIX}/node-group": "scaled",
        }
        spec = deployment["spec"]
        self.assertEqual(labels, spec["template"]["metadata"]["labels"])
        self.assertEqual(
            {**labels, "cluster.x-k8s.io/cluster-name": "rel"},
            spec["selector"]["matchLabels"],
        )
        check = rendered("plain").get("MachineHealthCheck", "rel-scaled")
        self.assertEqual(labels, check["spec"]["selector"]["matchLabels"])

    def test_machines_of_the_control_plane(self) -> None:
        labels = {
            f"{PREFIX}/cluster": "rel",
            f"{PREFIX}/component": "control-plane",
        }
        name = "rel-control-plane"
        plane = rendered("plain").get("KubeadmControlPlane", name)["spec"]
        found = plane["machineTemplate"]["metadata"]["labels"]
        self.assertEqual(labels, found)
        check = rendered("plain").get("MachineHealthCheck", name)["spec"]
        self.assertEqual(labels, check["selector"]["matchLabels"])

    def test_the_addon_provider_watches_configuration(self) -> None:
        for item in rendered("rich").of("Secret"):
            if item["metadata"]["name"].endswith("-config"):
                labels = item["metadata"]["labels"]
                self.assertEqual("", labels["addons.stackhpc.com/watch"])


class TemplateNameTest(base.BaseTestCase):
    """A template's name changes with what it says, and only then."""

    def changed(self, **changes: dict[str, Any]) -> set[str]:
        """Template names, before and after, that are not in both."""
        values = rendering.load_values("plain")
        before = _template_names(rendering.render(values))
        for group in values["nodeGroups"]:
            group.update(changes.get(group["name"].replace("-", "_"), {}))
        values["controlPlane"].update(changes.get("control_plane", {}))
        after = _template_names(rendering.render(values))
        return {name.rpartition("-")[0] for name in before ^ after}

    def test_names_change_with_what_machines_are_made_of(self) -> None:
        rows: tuple[tuple[dict[str, Any], set[str]], ...] = (
            (
                {"default_worker": {"machineFlavor": "m1.big"}},
                {"OpenStackMachineTemplate/rel-default-worker"},
            ),
            (
                {"control_plane": {"machineFlavor": "m1.big"}},
                {"OpenStackMachineTemplate/rel-control-plane"},
            ),
            (
                {"scaled": {"nodeLabels": {"a": "b"}}},
                {"KubeadmConfigTemplate/rel-scaled"},
            ),
            (
                {
                    "default_worker": {"machineCount": 9},
                    "scaled": {"machineCountMin": 1, "machineCountMax": 9},
                    "control_plane": {"machineCount": 3},
                },
                set(),
            ),
            # It is a field of the MachineDeployment, which rolls by itself.
            ({"scaled": {"kubernetesVersion": "v1.33.0"}}, set()),
        )
        for changes, changed in rows:
            self.assertEqual(changed, self.changed(**changes), str(changes))


class KindsTest(base.BaseTestCase):
    """What else than objects of Cluster API there is."""

    def test_no_other_kinds(self) -> None:
        for name in rendering.value_files():
            apis = {
                item["apiVersion"]
                for item in rendered(name)
                if item["apiVersion"].partition("/")[0] not in CLUSTER_API
            }
            self.assertLessEqual(apis, OTHER_APIS)

    def test_addons(self) -> None:
        common = {"bootstrap", "clusterName", "releaseName", "targetNamespace"}
        for item in rendered("rich").of("HelmRelease"):
            spec = item["spec"]
            self.assertEqual({*common, "chart", "valuesSources"}, set(spec))
            self.assertEqual({"repo", "name", "version"}, set(spec["chart"]))
        for item in rendered("rich").of("Manifests"):
            self.assertEqual({*common, "manifestSources"}, set(item["spec"]))


class ReferenceTest(base.BaseTestCase):
    """What an object refers to is in the same release."""

    def test_addon_configuration(self) -> None:
        for name in rendering.value_files():
            objects = rendered(name)
            secrets = {
                item["metadata"]["name"]: item["stringData"]
                for item in objects.of("Secret")
            }
            for release in objects.of("HelmRelease"):
                for source in release["spec"]["valuesSources"]:
                    secret = source["secret"]
                    self.assertIn(secret["key"], secrets[secret["name"]])

    def test_names_are_unique(self) -> None:
        for name in rendering.value_files():
            rows = rendered(name).inventory()
            self.assertEqual(len(rows), len(set(rows)))


def _annotations(item: rendering.Object) -> dict[str, str]:
    return item["metadata"].get("annotations") or {}


def _label(item: rendering.Object, name: str) -> str | None:
    value: str | None = item["metadata"]["labels"].get(f"{PREFIX}/{name}")
    return value


def _template_names(objects: rendering.Rendered) -> set[str]:
    return {
        f"{kind}/{name}"
        for kind in rendering.HASHED
        for name in objects.names(kind)
    }
