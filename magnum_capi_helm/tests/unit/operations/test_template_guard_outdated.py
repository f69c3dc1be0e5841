# SPDX-License-Identifier: Apache-2.0

"""A desired state that is older than the release, or of somebody else.

Each row is one way to such a state. Requests of users, operators' commands
and polls follow, and no machine is replaced.
"""

from __future__ import annotations

import base64
from collections.abc import Callable
import copy
import dataclasses
import json
import time
from typing import Any, NamedTuple

import fixtures
from magnum.common import exception

from magnum_capi_helm import runtime
from magnum_capi_helm.kubernetes import kinds
from magnum_capi_helm.lifecycle import rollout
from magnum_capi_helm.model import desired_state
from magnum_capi_helm.model import errors
from magnum_capi_helm.operations import cluster_operation
from magnum_capi_helm.tests.fakes import held
from magnum_capi_helm.tests.unit.lifecycle import base
from magnum_capi_helm.tests.unit.lifecycle import upgrading
from magnum_capi_helm.tests.unit.operations import test_template_guard_builds

_SECRET = (kinds.SECRET, base.NAMESPACE, base.INTENT)
_CLUSTER = (kinds.CLUSTER, base.NAMESPACE, base.RELEASE)
_COUNTER = "magnum.openstack.org/upgrade"

OLDER = "is of upgrade 0, the release of upgrade "
VERSION = "has Kubernetes v1.35.1, the control plane v1.36.0"
DAMAGED = "is damaged (BadGzipFile)"


class OutdatedCase(upgrading.UpgradeTestCase):
    """A cluster of 1.34.2 with a nodegroup ``mine``."""

    #: Of the control plane.
    image = "ubuntu-1.34"

    def setUp(self) -> None:
        super().setUp()
        self.add("mine")
        self.settle()
        self.first = self.data()

    def data(self) -> dict[str, str]:
        """Return the contents of the Secret with the desired state."""
        found = self.server.get(*_SECRET)
        assert found is not None
        return dict(found["data"])

    def put(self, data: dict[str, Any]) -> None:
        """Put other contents in place of all contents of the Secret."""
        gone = dict.fromkeys(self.data())
        self.server.patch(*_SECRET, {"data": {**gone, **data}})

    def stored(self) -> desired_state.DesiredState:
        """Return the stored desired state."""
        return desired_state.from_secret(self.data())

    def upgraded(self, image: str = "ubuntu-1.35") -> None:
        """Upgrade the cluster, and wait until it is complete."""
        self.image = image
        self.upgrade(self.template(image_id=image))
        self.settle()
        self.assertEqual("UPDATE_COMPLETE", self.row().status)

    def helm_of_others(self, version: str) -> None:
        """Let another program upgrade the release, as 1.4.0 does."""
        self.image = f"ubuntu-{version.rpartition('.')[0]}"
        values = copy.deepcopy(self.helm.upgrades[-1].values)
        values.pop("clusterAnnotations", None)
        for part in (values["controlPlane"], *values["nodeGroups"]):
            part["kubernetesVersion"] = version
        version = self.helm.upgrades[-1].chart_version
        chart = f"/store/openstack-cluster-{version}.tgz"
        self.helm.upgrade(base.RELEASE, base.NAMESPACE, chart, values)
        self.capi.settle()

    def records(self) -> list[str]:
        """Return the names of helm's records, the newest last."""
        found = self.server.list(kinds.SECRET, base.NAMESPACE, "owner=helm")
        return sorted(each["metadata"]["name"] for each in found)

    def relabel(self, record: str, status: str) -> None:
        """Give a record of helm another status."""
        labels = {"metadata": {"labels": {"status": status}}}
        self.server.patch(kinds.SECRET, base.NAMESPACE, record, labels)

    def machines_made_of(self) -> dict[str, Any]:
        """Return all that machines are made from, by group."""
        found = {}
        for kind in (kinds.CONTROL_PLANE, kinds.MACHINE_DEPLOYMENT):
            for each in self.server.list(kind, base.NAMESPACE):
                spec = {**each["spec"]}
                spec.pop("replicas")
                found[each["metadata"]["name"]] = spec
        return found


class Way(NamedTuple):
    """One way to a desired state that must not be applied as it is.

    :param happens: name of the method that goes this way
    :param refused: part of the reason of each refusal
    :param accepted: requests that are accepted nevertheless
    """

    happens: str
    refused: str
    accepted: frozenset[str] = frozenset()


#: Requests that name the one group that the state would change.
_ABOUT_MINE = frozenset(
    {"nodegroup upgrade", "cluster apply", "nodegroup delete"}
)
_ALL = _ABOUT_MINE | {
    "resize",
    "resize of the control plane",
    "nodegroup create",
    "nodegroup update",
}

#: Polls refuse what such a request leaves to them: an absence counts under
#: the Lease alone.
_LATER = _ALL - {"nodegroup upgrade", "cluster apply"}

WAYS = (
    Way("restore_after_an_upgrade", OLDER),
    Way("restore_with_rows_to_be_written", OLDER),
    Way("restore_over_a_failed_revision", OLDER),
    Way("upgrade_by_another_program", "has Kubernetes v1.34.2"),
    Way("upgrade_by_another_program_after_ours", VERSION),
    Way("damage", DAMAGED),
    Way("take_the_state_of_another_cluster", "is of another cluster"),
    Way("lose_helm_records", "release", _LATER),
    Way("rebuild_the_chart", "would"),
    Way("rebuild_the_chart_without_a_deployed_revision", "would"),
    Way("restore_before_labels_of_a_group", "machines", _ABOUT_MINE),
    Way("restore_before_a_group", "machines", _ABOUT_MINE),
    Way("restore_records_before_an_upgrade", "", _ALL),
)


class WaysTest(OutdatedCase):
    """Every request is refused with the reason, and no machine is replaced."""

    def restore_after_an_upgrade(self) -> None:
        self.upgraded()
        self.put(self.first)

    def restore_with_rows_to_be_written(self) -> None:
        """The copy was made before the rows got a template."""
        self.upgraded()
        moves = {"template": self.row().cluster_template_id, "groups": {}}
        encoded = base64.b64encode(json.dumps(moves).encode()).decode()
        self.put({**self.first, desired_state.MOVES: encoded})

    def restore_over_a_failed_revision(self) -> None:
        """helm wrote the Cluster of an upgrade, and was stopped then."""
        note = {"metadata": {"annotations": {_COUNTER: "1"}}}
        self.server.patch(*_CLUSTER, note)

    def upgrade_by_another_program(self) -> None:
        self.helm_of_others("1.35.1")

    def upgrade_by_another_program_after_ours(self) -> None:
        self.upgraded()
        self.helm_of_others("1.36.0")

    def damage(self) -> None:
        self.put({**self.first, "values.json.gz": "bm90IGd6aXA="})

    def take_the_state_of_another_cluster(self) -> None:
        stored = self.stored()
        values = {
            **stored.values,
            "cloudCredentialsSecretName": "other-cloud-credentials",
        }
        self.put(dataclasses.replace(stored, values=values).to_secret())

    def lose_helm_records(self) -> None:
        for each in self.records():
            self.server.delete(kinds.SECRET, base.NAMESPACE, each)

    def rebuild_the_chart(self) -> None:
        test_template_guard_builds.put_build(
            self.helm, test_template_guard_builds.PATCHED
        )

    def rebuild_the_chart_without_a_deployed_revision(self) -> None:
        self.relabel(self.records()[-1], "superseded")
        test_template_guard_builds.put_build(
            self.helm, test_template_guard_builds.PATCHED
        )

    def restore_before_labels_of_a_group(self) -> None:
        self.change("mine", node_labels={"a.example.org/b": "c"})
        self.settle()
        self.put(self.first)

    def restore_before_a_group(self) -> None:
        stored = self.stored()
        groups = [
            each
            for each in stored.values["nodeGroups"]
            if each["name"] != "mine"
        ]
        values = {**stored.values, "nodeGroups": groups}
        self.put(dataclasses.replace(stored, values=values).to_secret())

    def restore_records_before_an_upgrade(self) -> None:
        """Restore helm's records without Secret and objects."""
        self.upgraded()
        before, newest = self.records()[-2:]
        self.server.delete(kinds.SECRET, base.NAMESPACE, newest)
        self.relabel(before, "deployed")

    # Requests

    def requests(self) -> dict[str, Callable[[], object]]:
        """Return requests that are not meant to replace machines."""
        return {
            "resize": lambda: self.resize(3),
            "resize of the control plane": lambda: self.resize(
                3, "default-master"
            ),
            "nodegroup create": lambda: self.add("more", image_id=self.image),
            "nodegroup update": lambda: self.change("mine", max_node_count=7),
            "nodegroup upgrade": lambda: self.upgrade(
                self.row().cluster_template, nodegroup="mine"
            ),
            "cluster apply": self.roll_out,
            "nodegroup delete": lambda: self.remove("mine"),
        }

    def roll_out(self) -> None:
        """Roll the same chart out, as the operator's command does."""
        chart = self.helm.upgrades[-1].chart_version
        operation = cluster_operation.Operation(
            self.admin, self.row(), runtime.get()
        )
        rollout.apply(operation, rollout.Order(chart=chart))

    def polls(self) -> None:
        """Let polls look at the cluster as it is, in progress, and failed."""
        for status in (None, "UPDATE_IN_PROGRESS", "UPDATE_FAILED"):
            row = self.row()
            row.status = status or row.status
            row.save()
            for _ in range(2):
                self.plane.clock.advance(600)
                self.poll()
                self.health_poll()
                self.capi.settle()

    def outcome(self, request: Callable[[], object]) -> str:
        """Return the reason of a refusal; empty: the request was accepted."""
        row = self.row()
        row.status = "UPDATE_COMPLETE"
        row.save()
        try:
            request()
        except (exception.MagnumException, errors.CapiHelmError) as error:
            return str(error)
        return ""

    def check(self, way: Way) -> None:
        """Go a way; then let polls, every request and polls come."""
        getattr(self, way.happens)()
        before = self.machines_made_of()
        self.polls()
        self.assertEqual(before, self.machines_made_of())
        requests = self.requests()
        outcomes = {
            name: self.outcome(request) for name, request in requests.items()
        }
        accepted = {name for name, text in outcomes.items() if not text}
        self.assertEqual(set(way.accepted), accepted, outcomes)
        for name in outcomes.keys() - accepted:
            self.assertIn(way.refused, outcomes[name])
        self.polls()
        after = self.machines_made_of()
        deleted = "nodegroup delete" in accepted
        kept = before.keys() - ({f"{base.RELEASE}-mine"} if deleted else ())
        self.assertEqual(
            {name: before[name] for name in kept},
            {name: after.get(name) for name in kept},
        )


def _add_test(way: Way) -> None:
    def test(self: WaysTest) -> None:
        self.check(way)

    setattr(WaysTest, f"test_to_{way.happens}_replaces_nothing", test)


for _way in WAYS:
    _add_test(_way)


class LateWriteTest(OutdatedCase):
    """A holder of the Lease that stood still, and writes after another one."""

    def test_the_later_state_stays(self) -> None:
        release = held.release(self.row())
        late = release.read_stored().accepted()
        self.upgraded()
        kept = self.data()
        self.assertRaises(errors.Conflict, release.store, late)
        self.assertEqual(kept, self.data())


class RebuiltTest(OutdatedCase):
    """The chart store gets another build, and an upgrade comes."""

    def test_an_upgrade_of_one_nodegroup_replaces_no_other(self) -> None:
        before = self.machines_made_of()
        test_template_guard_builds.put_build(
            self.helm, test_template_guard_builds.PATCHED
        )
        text = self.refused(self.row().cluster_template, nodegroup="mine")
        self.assertIn("(control-plane, default-worker)", text)
        self.assertIn("the chart store has another build", text)
        self.assertEqual(before, self.machines_made_of())

    def test_a_cluster_upgrade_leaves_a_nodegroup_with_its_own_image(
        self,
    ) -> None:
        self.add("own", image_id="ubuntu-1.34.3")
        self.settle()
        test_template_guard_builds.put_build(self.helm, {"own": "patched"})
        text = self.refused(self.template(image_id="ubuntu-1.35"))
        self.assertIn("(own)", text)

    def test_a_newer_chart_replaces_it_and_the_log_names_it(self) -> None:
        self.add("own", image_id="ubuntu-1.34.3")
        self.settle()
        self.helm.otherwise = {"own": "newer"}
        labels = {"capi_helm_chart_version": "0.28.0"}
        self.upgrade(self.template(image_id="ubuntu-1.35", labels=labels))
        self.settle()
        self.assertEqual("UPDATE_COMPLETE", self.row().status)
        self.assertIn("replaces the machines of own, which", self.log.output)


class DeadlineTest(OutdatedCase):
    """Magnum waits a minute for the answer to an upgrade."""

    def slow(self, *seconds: float) -> list[float]:
        """Let each comparison of manifests take so long.

        :returns: the seconds of comparisons that are still to come
        """
        real, clock = self.helm.render, time.monotonic
        left, spent = [*seconds], [0.0]
        self.useFixture(
            fixtures.MonkeyPatch("time.monotonic", lambda: clock() + spent[0])
        )

        def render(*args: Any, **options: Any) -> Any:
            spent[0] += left.pop(0) if left else 0.0
            return real(*args, **options)

        self.useFixture(fixtures.MockPatchObject(self.helm, "render", render))
        return left

    def test_an_upgrade_that_took_too_long_to_check_is_refused(self) -> None:
        self.slow(60)
        text = self.refused(self.template(image_id="ubuntu-1.35"))
        self.assertIn("took too long", text)

    def test_polls_run_helm_if_little_time_is_left(self) -> None:
        # Seconds of comparisons, runs of helm, comparisons left to polls.
        for seconds, runs, later in (
            ((20, 5), 1, 0),
            ((20, 15), 0, 0),
            ((35, 0), 0, 1),
        ):
            left = self.slow(*seconds)
            before = len(self.helm.upgrades)
            self.upgrade(self.template(image_id="ubuntu-1.35"))
            self.assertEqual(before + runs, len(self.helm.upgrades))
            self.assertEqual(later, len(left))
            self.assertEqual("UPDATE_IN_PROGRESS", self.row().status)
            self.settle()
            self.settle()
            self.assertEqual("UPDATE_COMPLETE", self.row().status)
