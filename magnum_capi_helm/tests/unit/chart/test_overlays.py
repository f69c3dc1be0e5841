# SPDX-License-Identifier: Apache-2.0

"""Overlays: what they may set, and repositories of addons."""

from __future__ import annotations

import copy
from typing import Any

from oslotest import base
import yaml

from magnum_capi_helm.chart import overlays
from magnum_capi_helm.model import cluster_spec
from magnum_capi_helm.model import desired_state
from magnum_capi_helm.model import errors
from magnum_capi_helm.tests.unit.chart import renamed

VALUES: dict[str, Any] = yaml.safe_load("""
kubernetesVersion: 1.34.2
clusterNetworking: {internalNetwork: {nodeCidr: 10.0.0.0/24}}
apiServer: {allowedCIDRs: [192.0.2.0/24], port: 6443}
registryMirrors: null
controlPlane:
  machineCount: 3
  kubeadmConfigSpec:
    files: [{path: /etc/proxy}]
    preKubeadmCommands: [start proxy]
nodeGroups: [{name: default-worker, machineCount: 2}]
""")


def applied(overlay: dict[str, Any]) -> dict[str, Any]:
    return overlays.apply(VALUES, overlay, "profile gpu")


class ApplyTest(base.BaseTestCase):
    def test_dictionaries_merge_and_lists_and_settings_win(self) -> None:
        cidrs = VALUES["apiServer"]["allowedCIDRs"]
        mirrors = {"docker.io": ["https://mirror.example.org/v2"]}
        rows: tuple[tuple[dict[str, Any], dict[str, Any]], ...] = (
            ({}, {}),
            (
                {"apiServer": {"port": 443, "logLevel": 4}},
                {
                    "apiServer": {
                        "allowedCIDRs": cidrs,
                        "port": 443,
                        "logLevel": 4,
                    }
                },
            ),
            (
                {"apiServer": {"allowedCIDRs": ["203.0.113.0/24"]}},
                {
                    "apiServer": {
                        "allowedCIDRs": ["203.0.113.0/24"],
                        "port": 6443,
                    }
                },
            ),
            *(
                (new, new)
                for new in (
                    {"addons": {"metricsServer": {"enabled": False}}},
                    # helm takes the default away.
                    {"clusterNetworking": {"internalNetwork": None}},
                    {"autoscaler": {"extraArgs": {"expander": None}}},
                    # In the place of a null.
                    {"registryMirrors": mirrors},
                )
            ),
        )
        for overlay, changed in rows:
            self.assertEqual({**VALUES, **changed}, applied(overlay))

    def test_setup_of_machines_is_added_to_the_drivers_setup(self) -> None:
        own = {
            "files": [{"path": "/etc/mine"}],
            "preKubeadmCommands": ["mine before"],
            "postKubeadmCommands": ["mine after"],
            "ntp": {"servers": ["ntp.example.org"]},
        }
        spec = {"kubeadmConfigSpec": own}
        found = applied({"controlPlane": spec, "nodeGroupDefaults": spec})
        self.assertEqual(
            {
                **own,
                "files": [{"path": "/etc/proxy"}, {"path": "/etc/mine"}],
                "preKubeadmCommands": ["start proxy", "mine before"],
            },
            found["controlPlane"]["kubeadmConfigSpec"],
        )
        self.assertEqual(spec, found["nodeGroupDefaults"])

    def test_an_overlay_and_its_values_stay_unchanged(self) -> None:
        before = copy.deepcopy(VALUES)
        overlay: dict[str, Any] = {
            "addons": {"custom": {"one": {"kind": "Manifests"}}},
            **_setup(files=[{"path": "/etc/mine"}]),
        }
        kept = copy.deepcopy(overlay)
        found = applied(overlay)
        found["addons"]["custom"]["one"]["kind"] = "other"
        for each in found["controlPlane"]["kubeadmConfigSpec"]["files"]:
            each["path"] = "/"
        self.assertEqual((before, kept), (VALUES, overlay))


def _again(values: dict[str, Any], overlay: dict[str, Any]) -> dict[str, Any]:
    return overlays.apply(values, overlay, "profile gpu", again=True)


def _setup(**lists: list[Any]) -> dict[str, Any]:
    return {"controlPlane": {"kubeadmConfigSpec": lists}}


class AgainTest(base.BaseTestCase):
    """On values that may have it already."""

    def test_present_setup_is_not_added_a_second_time(self) -> None:
        overlay = {
            **_setup(
                files=[{"path": "/etc/mine"}],
                preKubeadmCommands=["sleep 5", "mine", "sleep 5"],
                postKubeadmCommands=["mine"],
            ),
            "registryMirrors": {"a": None},
            "apiServer": {"allowedCIDRs": ["203.0.113.0/24"], "logLevel": 4},
        }
        once = applied(overlay)
        self.assertEqual(once, _again(VALUES, overlay))
        self.assertEqual(once, _again(once, overlay))

    def test_lists_get_what_is_new(self) -> None:
        for lists in (
            (["start"], ["start", "b"], ["start", "b"]),
            (["start", "a"], ["b"], ["start", "a", "b"]),
            (["a"], ["a", "a"], ["a", "a"]),
            ([], ["a", "a"], ["a", "a"]),
        ):
            there, more, expected = (
                _setup(preKubeadmCommands=each) for each in lists
            )
            self.assertEqual(expected, _again(there, more))

    def test_a_file_takes_the_place_of_one_with_its_path(self) -> None:
        old, new = ({"path": "/a", "content": each} for each in "12")
        b, c = {"path": "/b"}, {"path": "/c"}
        found = _again(_setup(files=[old, b]), _setup(files=[c, new]))
        self.assertEqual(_setup(files=[new, b, c]), found)

    def test_values_outside_the_overlay_stay(self) -> None:
        there = {"etcd": {"extraArgs": {"v": "3"}}, **_setup(files=[{}])}
        self.assertEqual(there, _again(there, {"etcd": {"extraArgs": {}}}))

    def test_a_field_of_the_driver_is_refused_in_an_overlay(self) -> None:
        error = self.assertRaises(
            errors.NotConfigured, _again, VALUES, {"nodeGroups": []}
        )
        self.assertIn("nodeGroups is not theirs to set", str(error))


#: Paths, and an overlay that sets each.
NOT_THEIRS: list[tuple[str, dict[str, Any]]] = [
    *(
        (key, {key: "x"})
        for key in (
            *("cloudCACert", "cloudCredentialsSecretName", "cloudName"),
            *("clouds", "controlPlaneEndpoint", "global", "nodeGroups"),
            *("kubernetesVersion", "machineImage", "machineImageId"),
            *("machineSSHKeyName", "osDistro", "projectPrefix"),
            "registryAuth",
        )
    ),
    *(
        (f"{machines}.{key}", {machines: {key: 1}})
        for machines in ("controlPlane", "nodeGroupDefaults")
        for key in (
            *("kubernetesVersion", "machineCount", "machineFlavor"),
            *("machineImage", "machineImageId"),
        )
    ),
    *(
        (f"nodeGroupDefaults.{key}", {"nodeGroupDefaults": {key: None}})
        for key in ("autoscale", "machineCountMax", "machineCountMin", "name")
    ),
    ("addons.clusterName", {"addons": {"clusterName": "x"}}),
    ("addons.global", {"addons": {"global": {}}}),
    ("apiServer.floatingIP", {"apiServer": {"floatingIP": "x"}}),
    *(
        (
            f'clusterAnnotations."magnum.openstack.org/{name}"',
            {"clusterAnnotations": {f"magnum.openstack.org/{name}": "x"}},
        )
        for name in ("intent", "values-profiles")
    ),
]


class OutOfReachTest(base.BaseTestCase):
    def _refused(self, overlay: dict[str, Any]) -> str:
        error = self.assertRaises(errors.NotConfigured, applied, overlay)
        return str(error)

    def test_names_counts_and_credentials(self) -> None:
        for path, overlay in NOT_THEIRS:
            self.assertEqual(
                f"profile gpu: {path} is not theirs to set: take it out",
                self._refused(overlay),
            )

    def test_a_parent_that_is_no_mapping_is_refused(self) -> None:
        spec = {"kubeadmConfigSpec": None}
        for path, overlay in (
            ("controlPlane", {"controlPlane": None}),
            ("addons", {"addons": None}),
            ("clusterAnnotations", {"clusterAnnotations": []}),
            ("apiServer", {"apiServer": "x"}),
            ("controlPlane.kubeadmConfigSpec", {"controlPlane": spec}),
        ):
            self.assertEqual(
                f"profile gpu: {path} must be a mapping",
                self._refused(overlay),
            )

    def test_commands_that_are_no_list(self) -> None:
        for value in (None, "reboot", {"a": 1}):
            spec = {"kubeadmConfigSpec": {"preKubeadmCommands": value}}
            self.assertEqual(
                "profile gpu: controlPlane.kubeadmConfigSpec."
                "preKubeadmCommands must be a list",
                self._refused({"controlPlane": spec}),
            )

    def test_the_same_names_elsewhere_are_free(self) -> None:
        overlay = {
            "addons": {"custom": {"one": {"spec": {"name": "x"}}}},
            "controlPlane": {"machineMetadata": {"machineCount": "3"}},
            "clusterAnnotations": {"example.org/owner": "me"},
        }
        self.assertEqual(overlay["addons"], applied(overlay)["addons"])


ITEM: dict[str, Any] = {
    "name": "gpu",
    "nodeLabels": {"tier": "1"},
    "kubeadmConfigSpec": {"mounts": [["a", "/a"]]},
}

#: A profile that a nodegroup can't have -> the refusal.
NOT_OF_GROUPS: list[tuple[dict[str, Any], str]] = [
    *(
        (
            {key: "x"},
            f"{key} is not a nodegroup's to set: give "
            "additionalBlockDevices, healthCheck, kubeadmConfigSpec, "
            "machineNetworking, machineRootVolume, nodeLabels, "
            "machineConfigDrive, nodeDeletionTimeout, nodeDrainTimeout or "
            "nodeVolumeDetachTimeout",
        )
        for key in (
            *("autoscale", "failureDomain", "kubernetesVersion", "name"),
            *("machineCount", "machineCountMax", "machineCountMin"),
            *("machineFlavor", "machineImage", "machineImageId"),
            *("machineMetadata", "nodeGroupDefaults", "rolloutStrategy"),
            "serverGroupId",
        )
    ),
    *(
        (
            {"healthCheck": {"enabled": yaml.safe_load(shown)}},
            f"healthCheck.enabled is {shown}, which one nodegroup can't have: "
            "set it for all in nodeGroupDefaults of a values profile",
        )
        for shown in ("false", "0", "null", '""', "[]")
    ),
    ({"nodeLabels": "a=b"}, "nodeLabels must be a mapping"),
    (
        {"kubeadmConfigSpec": {"files": "x"}},
        "kubeadmConfigSpec.files must be a list",
    ),
]


def _spec(*commands: str) -> dict[str, Any]:
    return {"kubeadmConfigSpec": {"preKubeadmCommands": [*commands]}}


def _told(values: dict[str, Any]) -> dict[str, Any]:
    chart = cluster_spec.Chart("openstack-cluster", "0.27.0", "")
    return overlays.for_helm(
        desired_state.DesiredState(chart, values, fingerprint="", since=0.0)
    )


class GroupProfileTest(base.BaseTestCase):
    def test_a_group_profile_is_merged_into_the_item(self) -> None:
        found = overlays.apply_to_group(
            ITEM, {"nodeLabels": {"gpu": "a"}, **_spec("mine")}, "profile"
        )
        spec = {"mounts": [["a", "/a"]], "preKubeadmCommands": ["mine"]}
        self.assertEqual(
            {
                "name": "gpu",
                "nodeLabels": {"tier": "1", "gpu": "a"},
                "kubeadmConfigSpec": spec,
            },
            found,
        )

    def test_commands_of_two_profiles_are_added(self) -> None:
        two = (_spec("a", "b"), _spec("b"), "profile")
        for again, wanted in ((False, ("a", "b", "b")), (True, ("a", "b"))):
            found = overlays.apply_to_group(*two, again=again)
            self.assertEqual(_spec(*wanted), found)

    def test_the_path_of_a_newer_chart_is_known(self) -> None:
        renamed.add_source(self)
        found = applied({"apiServer": {"provider": "ovn"}})["apiServer"]
        self.assertEqual("ovn", found["loadBalancerProvider"])
        self.assertIn("machineCount is not", self._refused({"replicas": 3}))

    def _refused(self, overlay: dict[str, Any]) -> str:
        profile = (ITEM, overlay, "profile gpu")
        error = self.assertRaises(
            errors.NotConfigured, overlays.apply_to_group, *profile
        )
        return str(error)

    def test_a_group_profile_has_no_fields_of_the_cluster(self) -> None:
        for overlay, text in NOT_OF_GROUPS:
            self.assertEqual(f"profile gpu: {text}", self._refused(overlay))

    def test_helm_gets_the_commands_of_all_groups_for_each(self) -> None:
        stored = {
            "nodeGroupDefaults": _spec("proxy"),
            "nodeGroups": [ITEM, {"name": "two", **_spec("mine")}],
        }
        wanted = {
            "nodeGroupDefaults": _spec("proxy"),
            "nodeGroups": [ITEM, {"name": "two", **_spec("proxy", "mine")}],
        }
        before = copy.deepcopy(stored)
        self.assertEqual(wanted, _told(stored))
        self.assertEqual(before, stored)
        # Of a release that is adopted, helm's record is what is stored.
        self.assertEqual(wanted, _told(wanted))


URL = "https://charts.example.org"

DEFAULTS: dict[str, Any] = yaml.safe_load("""
autoscaler: {image: {repository: registry.k8s.io/autoscaler}}
addons:
  enabled: true
  cni:
    type: calico
    calico: {chart: {repo: 'https://calico', name: c}}
    cilium: {chart: {repo: 'https://cilium', name: c}}
  etcdDefrag: {chart: {repo: 'https://azimuth', version: null}}
  custom: {}
""")
INTEL = yaml.safe_load("""
addons:
  intelDevicePlugin:
    operator: {chart: {repo: 'https://intel'}}
    xpuManagerMonitoring:
      enabled: true
      repo: {url: 'https://github.com/intel/xpumanager'}
""")


class WithRepositoryTest(base.BaseTestCase):
    def test_every_addon_of_the_chart_comes_from_the_repository(self) -> None:
        ours = {"chart": {"repo": URL}}
        once = overlays.with_repository({}, DEFAULTS, URL)
        self.assertEqual(
            {
                "addons": {
                    "cni": {"calico": ours, "cilium": ours},
                    "etcdDefrag": ours,
                }
            },
            once,
        )
        again = overlays.with_repository(once, DEFAULTS, "https://other")
        self.assertEqual(once, again)

    def test_a_repository_in_the_values_stays(self) -> None:
        own = {"chart": {"repo": "https://own", "version": "2"}}
        others = {
            "etcdDefrag": None,
            "custom": {"tool": {"spec": {"chart": {"repo": "https://t"}}}},
        }
        cni = {"type": "cilium", "cilium": own}
        calico = {"chart": {"repo": URL}}
        self.assertEqual(
            {"addons": {"cni": {**cni, "calico": calico}, **others}},
            overlays.with_repository(
                {"addons": {"cni": cni, **others}}, DEFAULTS, URL
            ),
        )

    def test_an_addon_from_git_is_switched_off(self) -> None:
        addon = {
            "operator": {"chart": {"repo": URL}},
            "xpuManagerMonitoring": {"enabled": False},
        }
        self.assertEqual(
            {"addons": {"intelDevicePlugin": addon}},
            overlays.with_repository({}, INTEL, URL),
        )

    def test_a_chosen_addon_from_git_stays(self) -> None:
        for own in ({"enabled": True}, {"repo": {"url": "https://git"}}):
            addon = {"xpuManagerMonitoring": own}
            values = {"addons": {"intelDevicePlugin": addon}}
            found = overlays.with_repository(values, INTEL, URL)["addons"]
            self.assertEqual(
                own, found["intelDevicePlugin"]["xpuManagerMonitoring"]
            )

    def test_a_chart_without_addons_needs_none(self) -> None:
        self.assertEqual({"a": 1}, overlays.with_repository({"a": 1}, {}, URL))

    def test_with_repository_changes_no_argument(self) -> None:
        values: dict[str, Any] = {"addons": {"cni": {"calico": {}}}}
        given = copy.deepcopy((values, DEFAULTS))
        overlays.with_repository(values, DEFAULTS, URL)
        self.assertEqual(given, (values, DEFAULTS))
