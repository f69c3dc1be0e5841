# SPDX-License-Identifier: Apache-2.0

"""Steps of an upgrade, and the values of each."""

from __future__ import annotations

import dataclasses
import itertools
from typing import Any

from oslotest import base
import yaml

from magnum_capi_helm.chart import upgrade_steps
from magnum_capi_helm.chart import values
from magnum_capi_helm.model import cluster_spec

_MINORS = range(29, 38)

_ROUTES: tuple[tuple[int, int, int | None, str], ...] = (
    # Minor version of the control plane, the new one, that of the workers.
    (34, 34, 34, "C34 W34"),
    (34, 35, 34, "C35 W35"),
    (33, 36, 33, "C34 C35 C36 W36"),
    (32, 36, 32, "C33 C34 C35 W35 C36 W36"),
    (29, 37, 29, "C30 C31 C32 W32 C33 C34 C35 W35 C36 C37 W37"),
    # The control plane was upgraded alone before.
    (36, 36, 33, "C36 W36"),
    (35, 36, 32, "W35 C36 W36"),
    # It is upgraded alone.
    (33, 36, None, "C34 C35 C36"),
    (34, 34, None, "C34"),
)


class RouteTest(base.BaseTestCase):
    def test_minor_versions_decide_about_the_steps(self) -> None:
        for old, new, workers, expected in _ROUTES:
            steps = upgrade_steps.route(old, new, workers)
            words = (f"{'WC'[plane]}{minor}" for plane, minor in steps)
            self.assertEqual(expected, " ".join(words))

    def test_each_step_is_legal_and_no_round_is_too_many(self) -> None:
        pairs = itertools.combinations_with_replacement(_MINORS, 3)
        for kubelet, old, new in pairs:
            if old - kubelet <= 3:
                self._check(kubelet, old, new)

    def _check(self, kubelet: int, plane: int, new: int) -> None:
        steps = upgrade_steps.route(plane, new, kubelet)
        about = f"{kubelet} {plane} {new}: {steps}"
        rounds = sum(not is_plane for is_plane, _ in steps)
        most = max(1, -(-(new - kubelet) // 3))
        self.assertLessEqual(rounds, most, about)
        for is_plane, minor in steps:
            if is_plane:
                self.assertIn(minor, (plane, plane + 1), about)
                plane = minor
            else:
                # A new worker joins a control plane of its own version alone.
                self.assertEqual(plane, minor, about)
                kubelet = minor
            self.assertLessEqual(kubelet, plane, about)
            self.assertLessEqual(plane - kubelet, 3, about)
        self.assertEqual((new, new), (plane, kubelet), about)

    def test_versions_that_bring_etcd_3_6(self) -> None:
        for old, new, expected in (
            ("1.33.13", "1.34.0", True),
            ("1.32.9", "1.36.0", True),
            ("1.32.9", "1.33.0", False),
            ("1.34.0", "1.35.0", False),
            ("", "1.34.0", False),
        ):
            actual = upgrade_steps.brings_etcd_3_6(old, new)
            self.assertEqual(expected, actual, f"{old} {new}")


_OLD: dict[str, Any] = yaml.safe_load("""
kubernetesVersion: 1.32.2
machineImageId: i-32
controlPlane:
  machineCount: 3
  kubernetesVersion: 1.32.2
  machineImageId: i-32
addons: {a: {enabled: true}, b: {x: 1, y: 2}}
nodeGroups:
- {name: a, machineCount: 2, labels: {x: '1', y: '2'}}
- {name: own, machineImageId: i-9, kubernetesVersion: 1.33.4}
""")
_NEW: dict[str, Any] = yaml.safe_load("""
kubernetesVersion: 1.36.1
machineImageId: i-36
controlPlane:
  machineCount: 3
  kubernetesVersion: 1.36.1
  machineImageId: i-36
  machineFlavor: large
addons: {a: {enabled: null}, b: {x: 2}, c: null}
nodeGroups:
- name: a
  machineCount: 2
  labels: {x: '1'}
  rolloutStrategy: {rollingUpdate: {maxUnavailable: 2}}
  kubernetesVersion: 1.36.1
  machineImageId: i-36
- {name: own, machineImageId: i-9, kubernetesVersion: 1.33.4}
""")
_CHART = cluster_spec.Chart("chart", "0.27.0", "https://charts.test")


def _hops() -> list[upgrade_steps.Hop]:
    steps = upgrade_steps.route(32, 36, 32)
    return [
        upgrade_steps.Hop(
            plane,
            cluster_spec.Image(f"i-{minor}", "", f"1.{minor}.1", "ubuntu"),
            _CHART,
        )
        for plane, minor in steps
    ]


def _versions(content: dict[str, Any]) -> list[tuple[str, str]]:
    """Version and image at the top, of the control plane and of a group."""
    places = (content, content["controlPlane"], content["nodeGroups"][0])
    return [(e["kubernetesVersion"], e["machineImageId"]) for e in places]


def _at_end(
    plan: upgrade_steps.Upgrade, content: dict[str, Any]
) -> dict[str, Any]:
    for each in plan.stages:
        content = values.changed(content, each.changes)
    return content


class ValuesTest(base.BaseTestCase):
    """Steps: C33 C34 C35 W35 C36 W36."""

    def setUp(self) -> None:
        super().setUp()
        hops, now = _hops(), _OLD
        self.values, stages = [], []
        for index, hop in enumerate(hops):
            new = upgrade_steps.values_of_step(hops, index, now, _NEW, {"a"})
            stage = upgrade_steps.Stage(
                version=hop.image.kube_version,
                chart=vars(hop.chart),
                changes=values.changes(now, new),
                replaced=["control-plane" if hop.control_plane else "a"],
            )
            stages.append(stage)
            self.values.append(new)
            now = new
        self.plan = upgrade_steps.Upgrade(stages=stages, machines=())

    def test_steps_before_the_last_change_only_versions(self) -> None:
        for index, plane, workers in ((0, 33, 32), (1, 34, 32), (3, 35, 35)):
            step = self.values[index]
            new = (f"1.{plane}.1", f"i-{plane}")
            patch = 2 if workers == 32 else 1
            kept = (f"1.{workers}.{patch}", f"i-{workers}")
            self.assertEqual([new, new, kept], _versions(step))
            self.assertEqual(_OLD["addons"], step["addons"])
            self.assertEqual(_OLD["nodeGroups"][1], step["nodeGroups"][1])
            labels = step["nodeGroups"][0]["labels"]
            self.assertEqual({"x": "1", "y": "2"}, labels)
            is_batched = "rolloutStrategy" in step["nodeGroups"][0]
            self.assertEqual(index == 3, is_batched)

    def test_the_last_step_of_the_plane_takes_the_other_values(self) -> None:
        step, workers = self.values[4], self.values[3]["nodeGroups"]
        self.assertEqual({**_NEW, "nodeGroups": workers}, step)
        self.assertEqual(_NEW, self.values[5])

    def test_changes_of_all_steps_lead_to_the_new_values(self) -> None:
        found = upgrade_steps.Upgrade.from_secret(self.plan.to_secret())
        assert found is not None
        self.assertEqual(_NEW, _at_end(found, _OLD))
        # Once more, from the values of any step.
        for each in self.values:
            self.assertEqual(_NEW, _at_end(found, each))

    def test_counts_and_groups_of_meanwhile_stay(self) -> None:
        made = {"name": "b", "machineCount": 1}
        now = {
            **_OLD,
            "controlPlane": {**_OLD["controlPlane"], "machineCount": 5},
            "nodeGroups": [{**_OLD["nodeGroups"][0], "machineCount": 7}, made],
        }
        last = _at_end(self.plan, now)
        self.assertEqual(5, last["controlPlane"]["machineCount"])
        counts = [each["machineCount"] for each in last["nodeGroups"]]
        self.assertEqual([7, 1], counts)
        self.assertEqual(made, last["nodeGroups"][1])

    def test_each_step_names_its_machines_and_version(self) -> None:
        self.assertEqual(
            "control plane to v1.33.1, control plane to v1.34.1, "
            "control plane to v1.35.1, workers to v1.35.1, "
            "control plane to v1.36.1, workers to v1.36.1",
            ", ".join(each.text for each in self.plan.steps),
        )
        both = self.plan.stages[0]._replace(replaced=["control-plane", "a"])
        self.assertEqual("control plane and workers to v1.33.1", both.text)

    def test_a_new_group_is_of_the_next_step_of_workers(self) -> None:
        versions = (*4 * ["1.35.1"], *2 * ["1.36.1"])
        for step, before in enumerate((_OLD, *self.values[:-1])):
            found = dataclasses.replace(self.plan, step=step)
            then = upgrade_steps.at_next_workers(found, before)
            plane = then["controlPlane"]["kubernetesVersion"]
            self.assertEqual(versions[step], plane, str(step))
        self.assertEqual(_OLD, upgrade_steps.at_next_workers(None, _OLD))
