# SPDX-License-Identifier: Apache-2.0

"""Overlays on the driver's values."""

from __future__ import annotations

import copy
from typing import Any

from oslotest import base

from magnum_capi_helm.chart import overlays
from magnum_capi_helm.model import errors
from magnum_capi_helm.tests.unit.chart import overlaid


class ApplyTest(base.BaseTestCase):
    def test_dictionaries_merge_and_single_settings_win(self) -> None:
        found = overlaid.applied(
            {
                "apiServer": {"port": 443, "logLevel": 4},
                "addons": {"metricsServer": {"enabled": False}},
            }
        )
        self.assertEqual(
            {
                **overlaid.VALUES,
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
        found = overlaid.applied(
            {"apiServer": {"allowedCIDRs": ["203.0.113.0/24"]}}
        )
        self.assertEqual(
            ["203.0.113.0/24"], found["apiServer"]["allowedCIDRs"]
        )

    def test_what_machines_get_is_added_to_the_drivers(self) -> None:
        spec = {
            "files": [{"path": "/etc/mine"}],
            "preKubeadmCommands": ["mine before"],
            "postKubeadmCommands": ["mine after"],
            "ntp": {"servers": ["ntp.example.org"]},
        }
        found = overlaid.applied(
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
        found = overlaid.applied(
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
        found = overlaid.applied({"registryMirrors": mirrors})
        self.assertEqual(mirrors, found["registryMirrors"])

    def test_nothing_on_top_changes_nothing(self) -> None:
        self.assertEqual(overlaid.VALUES, overlaid.applied({}))

    def test_neither_side_is_changed_nor_shared(self) -> None:
        before = copy.deepcopy(overlaid.VALUES)
        extra = {"addons": {"custom": {"one": {"kind": "Manifests"}}}}
        files = {"files": [{"path": "/etc/mine"}]}
        overlay = {**extra, "controlPlane": {"kubeadmConfigSpec": files}}
        kept = copy.deepcopy(overlay)
        found = overlaid.applied(overlay)
        found["addons"]["custom"]["one"]["kind"] = "other"
        found["controlPlane"]["kubeadmConfigSpec"]["files"][1]["path"] = "/"
        found["controlPlane"]["kubeadmConfigSpec"]["files"][0]["path"] = "/"
        self.assertEqual(before, overlaid.VALUES)
        self.assertEqual(kept, overlay)

    def test_the_last_of_several_is_on_top(self) -> None:
        first = overlaid.applied(
            {"apiServer": {"port": 1}, "authWebhook": "a"}
        )
        both = overlays.apply(first, {"apiServer": {"port": 2}}, "second")
        self.assertEqual(2, both["apiServer"]["port"])
        self.assertEqual("a", both["authWebhook"])


def _again(values: dict[str, Any], overlay: dict[str, Any]) -> dict[str, Any]:
    return overlays.apply(values, overlay, "profile gpu", again=True)


def _setup(**lists: list[Any]) -> dict[str, Any]:
    return {"controlPlane": {"kubeadmConfigSpec": lists}}


class AgainTest(base.BaseTestCase):
    """On values that may have it already."""

    def test_what_is_there_is_not_added_a_second_time(self) -> None:
        overlay = {
            **_setup(
                files=[{"path": "/etc/mine"}],
                preKubeadmCommands=["sleep 5", "mine", "sleep 5"],
                postKubeadmCommands=["mine"],
            ),
            "registryMirrors": {"a": None},
            "apiServer": {"allowedCIDRs": ["203.0.113.0/24"], "logLevel": 4},
        }
        once = overlaid.applied(overlay)
        self.assertEqual(once, _again(overlaid.VALUES, overlay))
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

    def test_what_it_does_not_mention_stays(self) -> None:
        there = {"etcd": {"extraArgs": {"v": "3"}}, **_setup(files=[{}])}
        self.assertEqual(there, _again(there, {"etcd": {"extraArgs": {}}}))

    def test_what_no_overlay_can_have_is_refused(self) -> None:
        error = self.assertRaises(
            errors.NotConfigured,
            _again,
            overlaid.VALUES,
            {"nodeGroups": []},
        )
        self.assertIn("nodeGroups is not theirs to set", str(error))
