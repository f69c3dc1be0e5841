# SPDX-License-Identifier: Apache-2.0
"""What becomes of each label of the Heat driver and magnum-cluster-api."""

from __future__ import annotations

from oslotest import base

from magnum_capi_helm import features
from magnum_capi_helm.features import ignored
from magnum_capi_helm.tests import other_drivers

_DECLARED = other_drivers.DECLARED
_FUNCTIONAL = other_drivers.FUNCTIONAL
_HARMLESS = other_drivers.HARMLESS
_HEAT = other_drivers.HEAT
_MAGNUM_CLUSTER_API = other_drivers.MAGNUM_CLUSTER_API


def becomes(name: str) -> list[str]:
    """Everything that the label is here; it has to be one thing."""
    found = [_DECLARED for label in features.LABELS if name == label.name]
    found += [
        f"alias of {label.name}"
        for label in features.LABELS
        if name in label.aliases
    ]
    if name in ignored.LABELS:
        functional = ignored.LABELS[name].functional
        found.append(_FUNCTIONAL if functional else _HARMLESS)
    return found


class OtherDriversTest(base.BaseTestCase):
    def test_each_label_of_the_heat_driver_is_one_thing(self) -> None:
        self.assertEqual(
            {name: [expected] for name, expected in _HEAT.items()},
            {name: becomes(name) for name in _HEAT},
        )

    def test_each_label_of_magnum_cluster_api_is_one_thing(self) -> None:
        self.assertEqual(
            {
                name: [expected]
                for name, expected in _MAGNUM_CLUSTER_API.items()
            },
            {name: becomes(name) for name in _MAGNUM_CLUSTER_API},
        )

    def test_only_labels_of_these_drivers_are_ignored(self) -> None:
        # Any other is a label that somebody has misspelt.
        strange = set(ignored.LABELS) - set(_HEAT) - set(_MAGNUM_CLUSTER_API)
        self.assertEqual(set(), strange)

    def test_each_is_ignored_for_a_reason(self) -> None:
        for name, label in ignored.LABELS.items():
            self.assertTrue(label.why, name)

    def test_values_that_ask_for_what_is_there_anyway(self) -> None:
        rows: list[tuple[str, tuple[str, ...], tuple[str, ...]]] = [
            # label, values that change nothing, values that would
            ("cloud_provider_enabled", ("true", "1"), ("false", "0")),
            ("cert_manager_api", ("True",), ("False",)),
            ("prometheus_adapter_enabled", ("no",), ("yes",)),
            ("monitoring_ingress_enabled", ("false",), ("true",)),
            ("different_failure_domain", ("false",), ("true",)),
            ("heapster_enabled", ("false",), ("true",)),
            ("influx_grafana_dashboard_enabled", ("false",), ("true",)),
            ("container_runtime", ("containerd",), ("host-docker",)),
            ("cgroup_driver", ("systemd",), ("cgroupfs",)),
            ("calico_ipv4pool_ipip", ("Off", "Never"), ("Always",)),
            ("calico_tag", ("",), ("v3.26.4",)),
            ("heat_container_agent_tag", ("wallaby-stable-1",), ()),
        ]
        self.assertEqual(
            rows,
            [
                (
                    name,
                    tuple(v for v in (*same, *other) if not misses(name, v)),
                    tuple(v for v in (*same, *other) if misses(name, v)),
                )
                for name, same, other in rows
            ],
        )


def misses(name: str, value: str) -> bool:
    return ignored.LABELS[name].misses(value)
