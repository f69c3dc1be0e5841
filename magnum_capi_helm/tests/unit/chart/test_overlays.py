# SPDX-License-Identifier: Apache-2.0

"""Overlays: what they may set, and repositories of addons."""

from __future__ import annotations

import copy
from typing import Any

from oslotest import base

from magnum_capi_helm.chart import overlays
from magnum_capi_helm.model import cluster_spec
from magnum_capi_helm.model import desired_state
from magnum_capi_helm.model import errors
from magnum_capi_helm.tests.unit.chart import renamed

VALUES: dict[str, Any] = {
    "kubernetesVersion": "1.34.2",
    "clusterNetworking": {"internalNetwork": {"nodeCidr": "10.0.0.0/24"}},
    "apiServer": {"allowedCIDRs": ["192.0.2.0/24"], "port": 6443},
    "registryMirrors": None,
    "controlPlane": {
        "machineCount": 3,
        "kubeadmConfigSpec": {
            "files": [{"path": "/etc/proxy"}],
            "preKubeadmCommands": ["start proxy"],
        },
    },
    "nodeGroups": [{"name": "default-worker", "machineCount": 2}],
}


def applied(overlay: dict[str, Any]) -> dict[str, Any]:
    return overlays.apply(VALUES, overlay, "profile gpu")


class ApplyTest(base.BaseTestCase):
    def test_dictionaries_merge_and_single_settings_win(self) -> None:
        found = applied(
            {
                "apiServer": {"port": 443, "logLevel": 4},
                "addons": {"metricsServer": {"enabled": False}},
            }
        )
        self.assertEqual(
            {
                **VALUES,
                "apiServer": {
                    "allowedCIDRs": ["192.0.2.0/24"],
                    "port": 443,
                    "logLevel": 4,
                },
                "addons": {"metricsServer": {"enabled": False}},
            },
            found,
        )

    def test_a_list_wins_as_a_whole(self) -> None:
        found = applied({"apiServer": {"allowedCIDRs": ["203.0.113.0/24"]}})
        self.assertEqual(
            ["203.0.113.0/24"], found["apiServer"]["allowedCIDRs"]
        )

    def test_setup_of_machines_is_added_to_the_drivers_setup(self) -> None:
        spec = {
            "files": [{"path": "/etc/mine"}],
            "preKubeadmCommands": ["mine before"],
            "postKubeadmCommands": ["mine after"],
            "ntp": {"servers": ["ntp.example.org"]},
        }
        found = applied(
            {
                "controlPlane": {"kubeadmConfigSpec": spec},
                "nodeGroupDefaults": {"kubeadmConfigSpec": spec},
            }
        )
        self.assertEqual(
            {
                "files": [{"path": "/etc/proxy"}, {"path": "/etc/mine"}],
                "preKubeadmCommands": ["start proxy", "mine before"],
                "postKubeadmCommands": ["mine after"],
                "ntp": {"servers": ["ntp.example.org"]},
            },
            found["controlPlane"]["kubeadmConfigSpec"],
        )
        self.assertEqual(spec, found["nodeGroupDefaults"]["kubeadmConfigSpec"])

    def test_a_null_reaches_helm_which_takes_the_default_away(self) -> None:
        found = applied(
            {
                "clusterNetworking": {"internalNetwork": None},
                "autoscaler": {"extraArgs": {"expander": None}},
            }
        )
        self.assertEqual({"internalNetwork": None}, found["clusterNetworking"])
        self.assertEqual(
            {"extraArgs": {"expander": None}}, found["autoscaler"]
        )

    def test_a_mapping_takes_the_place_of_a_null(self) -> None:
        mirrors = {"docker.io": ["https://mirror.example.org/v2"]}
        found = applied({"registryMirrors": mirrors})
        self.assertEqual(mirrors, found["registryMirrors"])

    def test_an_empty_overlay_changes_no_value(self) -> None:
        self.assertEqual(VALUES, applied({}))

    def test_an_overlay_and_its_values_stay_unchanged(self) -> None:
        before = copy.deepcopy(VALUES)
        extra = {"addons": {"custom": {"one": {"kind": "Manifests"}}}}
        files = {"files": [{"path": "/etc/mine"}]}
        overlay = {**extra, "controlPlane": {"kubeadmConfigSpec": files}}
        kept = copy.deepcopy(overlay)
        found = applied(overlay)
        found["addons"]["custom"]["one"]["kind"] = "other"
        found["controlPlane"]["kubeadmConfigSpec"]["files"][1]["path"] = "/"
        found["controlPlane"]["kubeadmConfigSpec"]["files"][0]["path"] = "/"
        self.assertEqual(before, VALUES)
        self.assertEqual(kept, overlay)

    def test_the_last_of_several_is_on_top(self) -> None:
        first = applied({"apiServer": {"port": 1}, "authWebhook": "a"})
        both = overlays.apply(first, {"apiServer": {"port": 2}}, "second")
        self.assertEqual(2, both["apiServer"]["port"])
        self.assertEqual("a", both["authWebhook"])


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
        for there, more, expected in (
            (["start"], ["start", "b"], ["start", "b"]),
            (["start", "a"], ["b"], ["start", "a", "b"]),
            (["a"], ["a", "a"], ["a", "a"]),
            ([], ["a", "a"], ["a", "a"]),
        ):
            found = _again(
                _setup(preKubeadmCommands=there),
                _setup(preKubeadmCommands=more),
            )
            self.assertEqual(_setup(preKubeadmCommands=expected), found)

    def test_a_file_takes_the_place_of_one_with_its_path(self) -> None:
        there = [{"path": "/a", "content": "1"}, {"path": "/b"}]
        found = _again(
            _setup(files=there),
            _setup(files=[{"path": "/c"}, {"path": "/a", "content": "2"}]),
        )
        self.assertEqual(
            _setup(
                files=[
                    {"path": "/a", "content": "2"},
                    {"path": "/b"},
                    {"path": "/c"},
                ]
            ),
            found,
        )

    def test_values_outside_the_overlay_stay(self) -> None:
        there = {"etcd": {"extraArgs": {"v": "3"}}, **_setup(files=[{}])}
        self.assertEqual(there, _again(there, {"etcd": {"extraArgs": {}}}))

    def test_a_field_of_the_driver_is_refused_in_an_overlay(self) -> None:
        error = self.assertRaises(
            errors.NotConfigured,
            _again,
            VALUES,
            {"nodeGroups": []},
        )
        self.assertIn("nodeGroups is not theirs to set", str(error))


#: Paths, and an overlay that sets each.
NOT_THEIRS: list[tuple[str, dict[str, Any]]] = [
    *(
        (key, {key: "x"})
        for key in (
            "cloudCACert",
            "cloudCredentialsSecretName",
            "cloudName",
            "clouds",
            "controlPlaneEndpoint",
            "global",
            "kubernetesVersion",
            "machineImage",
            "machineImageId",
            "machineSSHKeyName",
            "nodeGroups",
            "osDistro",
            "projectPrefix",
            "registryAuth",
        )
    ),
    *(
        (f"{machines}.{key}", {machines: {key: 1}})
        for machines in ("controlPlane", "nodeGroupDefaults")
        for key in (
            "kubernetesVersion",
            "machineCount",
            "machineFlavor",
            "machineImage",
            "machineImageId",
        )
    ),
    *(
        (f"nodeGroupDefaults.{key}", {"nodeGroupDefaults": {key: None}})
        for key in (
            "autoscale",
            "machineCountMax",
            "machineCountMin",
            "name",
        )
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
        for path, overlay in (
            ("controlPlane", {"controlPlane": None}),
            ("addons", {"addons": None}),
            ("clusterAnnotations", {"clusterAnnotations": []}),
            ("apiServer", {"apiServer": "x"}),
            (
                "controlPlane.kubeadmConfigSpec",
                {"controlPlane": {"kubeadmConfigSpec": None}},
            ),
        ):
            self.assertEqual(
                f"profile gpu: {path} must be a mapping",
                self._refused(overlay),
            )

    def test_commands_that_are_no_list(self) -> None:
        for value in (None, "reboot", {"a": 1}):
            self.assertEqual(
                "profile gpu: controlPlane.kubeadmConfigSpec."
                "preKubeadmCommands must be a list",
                self._refused(
                    {
                        "controlPlane": {
                            "kubeadmConfigSpec": {"preKubeadmCommands": value}
                        }
                    }
                ),
            )

    def test_the_same_names_elsewhere_are_free(self) -> None:
        overlay = {
            "addons": {"custom": {"one": {"spec": {"name": "x"}}}},
            "controlPlane": {"machineMetadata": {"machineCount": "3"}},
            "clusterAnnotations": {"example.org/owner": "me"},
        }
        self.assertEqual(
            "x",
            applied(overlay)["addons"]["custom"]["one"]["spec"]["name"],
        )


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
            "autoscale",
            "failureDomain",
            "kubernetesVersion",
            "machineCount",
            "machineCountMax",
            "machineCountMin",
            "machineFlavor",
            "machineImage",
            "machineImageId",
            "machineMetadata",
            "name",
            "nodeGroupDefaults",
            "rolloutStrategy",
            "serverGroupId",
        )
    ),
    *(
        (
            {"healthCheck": {"enabled": value}},
            f"healthCheck.enabled is {shown}, which one nodegroup can't have: "
            "set it for all in nodeGroupDefaults of a values profile",
        )
        for value, shown in (
            (False, "false"),
            (0, "0"),
            (None, "null"),
            ("", '""'),
            ([], "[]"),
        )
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
    """What helm gets of stored values."""
    chart = cluster_spec.Chart("openstack-cluster", "0.27.0", "")
    return overlays.for_helm(
        desired_state.DesiredState(chart, values, fingerprint="", since=0.0)
    )


class GroupProfileTest(base.BaseTestCase):
    def test_a_group_profile_is_merged_into_the_item(self) -> None:
        found = overlays.apply_to_group(
            ITEM, {"nodeLabels": {"gpu": "a"}, **_spec("mine")}, "profile"
        )
        self.assertEqual(
            {
                "name": "gpu",
                "nodeLabels": {"tier": "1", "gpu": "a"},
                "kubeadmConfigSpec": {
                    "mounts": [["a", "/a"]],
                    "preKubeadmCommands": ["mine"],
                },
            },
            found,
        )

    def test_commands_of_two_profiles_are_added(self) -> None:
        for again, wanted in ((False, ("a", "b", "b")), (True, ("a", "b"))):
            self.assertEqual(
                _spec(*wanted),
                overlays.apply_to_group(
                    _spec("a", "b"), _spec("b"), "profile", again=again
                ),
            )

    def test_the_path_of_a_newer_chart_is_known(self) -> None:
        renamed.add_source(self)
        self.assertEqual(
            "ovn",
            applied({"apiServer": {"provider": "ovn"}})["apiServer"][
                "loadBalancerProvider"
            ],
        )
        error = self.assertRaises(
            errors.NotConfigured,
            overlays.apply_to_group,
            ITEM,
            {"replicas": 3},
            "profile gpu",
        )
        self.assertIn("profile gpu: machineCount is not", str(error))

    def test_a_field_of_the_cluster_is_refused_in_a_group_profile(
        self,
    ) -> None:
        for overlay, text in NOT_OF_GROUPS:
            error = self.assertRaises(
                errors.NotConfigured,
                overlays.apply_to_group,
                ITEM,
                overlay,
                "profile gpu",
            )
            self.assertEqual(f"profile gpu: {text}", str(error))

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

DEFAULTS: dict[str, Any] = {
    "autoscaler": {"image": {"repository": "registry.k8s.io/autoscaler"}},
    "addons": {
        "enabled": True,
        "cni": {
            "type": "calico",
            "calico": {"chart": {"repo": "https://calico", "name": "c"}},
            "cilium": {"chart": {"repo": "https://cilium", "name": "c"}},
        },
        "etcdDefrag": {"chart": {"repo": "https://azimuth", "version": None}},
        "custom": {},
    },
}
INTEL = {
    "addons": {
        "intelDevicePlugin": {
            "operator": {"chart": {"repo": "https://intel"}},
            "xpuManagerMonitoring": {
                "enabled": True,
                "repo": {"url": "https://github.com/intel/xpumanager"},
            },
        }
    }
}


class WithRepositoryTest(base.BaseTestCase):
    def test_every_addon_of_the_chart_comes_from_the_repository(self) -> None:
        self.assertEqual(
            {
                "addons": {
                    "cni": {
                        "calico": {"chart": {"repo": URL}},
                        "cilium": {"chart": {"repo": URL}},
                    },
                    "etcdDefrag": {"chart": {"repo": URL}},
                }
            },
            overlays.with_repository({}, DEFAULTS, URL),
        )

    def test_a_repository_in_the_values_stays(self) -> None:
        values = {
            "addons": {
                "cni": {
                    "type": "cilium",
                    "cilium": {
                        "chart": {"repo": "https://own", "version": "2"}
                    },
                },
                "etcdDefrag": None,
                "custom": {"tool": {"spec": {"chart": {"repo": "https://t"}}}},
            }
        }
        self.assertEqual(
            {
                "addons": {
                    "cni": {
                        "type": "cilium",
                        "calico": {"chart": {"repo": URL}},
                        "cilium": {
                            "chart": {"repo": "https://own", "version": "2"}
                        },
                    },
                    "etcdDefrag": None,
                    "custom": {
                        "tool": {"spec": {"chart": {"repo": "https://t"}}}
                    },
                }
            },
            overlays.with_repository(values, DEFAULTS, URL),
        )

    def test_an_addon_from_git_is_switched_off(self) -> None:
        self.assertEqual(
            {
                "addons": {
                    "intelDevicePlugin": {
                        "operator": {"chart": {"repo": URL}},
                        "xpuManagerMonitoring": {"enabled": False},
                    }
                }
            },
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

    def test_a_second_time_changes_nothing(self) -> None:
        once = overlays.with_repository({}, DEFAULTS, URL)
        again = overlays.with_repository(once, DEFAULTS, "https://other")
        self.assertEqual(once, again)

    def test_with_repository_changes_no_argument(self) -> None:
        values: dict[str, Any] = {"addons": {"cni": {"calico": {}}}}
        given = copy.deepcopy((values, DEFAULTS))
        overlays.with_repository(values, DEFAULTS, URL)
        self.assertEqual(given, (values, DEFAULTS))
