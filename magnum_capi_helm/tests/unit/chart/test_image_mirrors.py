# SPDX-License-Identifier: Apache-2.0
"""Values that send addons to the operator's repository."""

from __future__ import annotations

import copy
from typing import Any

from oslotest import base

from magnum_capi_helm.chart import overlays

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

    def test_what_the_values_say_stays(self) -> None:
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

    def test_what_comes_from_git_is_switched_off(self) -> None:
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

    def test_what_comes_from_a_git_of_one_s_own_is_not(self) -> None:
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

    def test_what_it_is_given_stays_as_it_is(self) -> None:
        values: dict[str, Any] = {"addons": {"cni": {"calico": {}}}}
        given = copy.deepcopy((values, DEFAULTS))
        overlays.with_repository(values, DEFAULTS, URL)
        self.assertEqual(given, (values, DEFAULTS))
