# SPDX-License-Identifier: Apache-2.0

"""Which desired state may be applied to which release.

A state may be older than the release, or of somebody else. Each row is one
way to such a state. Requests of users, operators' commands and polls follow,
and no machine is replaced.
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
from oslotest import base as test_base

from magnum_capi_helm.kubernetes import helm_records
from magnum_capi_helm.kubernetes import kinds
from magnum_capi_helm.lifecycle import rollout
from magnum_capi_helm.model import cluster_spec
from magnum_capi_helm.model import desired_state
from magnum_capi_helm.model import errors
from magnum_capi_helm.model import names
from magnum_capi_helm.model import requested_groups
from magnum_capi_helm.operations import template_guard
from magnum_capi_helm.tests.unit.lifecycle import base
from magnum_capi_helm.tests.unit.lifecycle import upgrading
from magnum_capi_helm.tests.unit.operations import (
    test_template_guard_builds as builds,
)

_RELEASE = "web-1"
_COUNTER = "magnum.openstack.org/upgrade"
_STAMP = "magnum.openstack.org/intent"
_CHART = cluster_spec.Chart("repo", "openstack-cluster", "0.27.0")

_Permission = desired_state.Permission


def _values(
    generation: int | str, version: str = "", stamp: str = "v1-a"
) -> Any:
    notes = {_COUNTER: str(generation)} if generation else {}
    if stamp:
        notes[_STAMP] = stamp
    groups = [{"name": "default-worker"}, {"name": "gpu"}]
    return {
        "clusterAnnotations": notes,
        "controlPlane": {"kubernetesVersion": version},
        "nodeGroups": groups,
    }


def _desired(
    generation: int = 1,
    version: str = "1.35.1",
    permission: desired_state.Permission | None = None,
    **fields: Any,
) -> desired_state.DesiredState:
    values = {**_values(generation, version, ""), **fields}
    return desired_state.DesiredState(
        _CHART, values, "v1-a", 0.0, may_replace=permission
    )


def _object(kind: str, name: str, machine: str) -> dict[str, Any]:
    template = {"spec": {"infrastructureRef": {"name": machine}}}
    spec: dict[str, Any] = {"template": template}
    if kind == "KubeadmControlPlane":
        spec = {"machineTemplate": template["spec"]}
    return {
        "apiVersion": "cluster.x-k8s.io/v1beta1",
        "kind": kind,
        "metadata": {"name": f"{_RELEASE}-{name}"},
        "spec": spec,
    }


def _objects(**machines: str) -> tuple[dict[str, Any], ...]:
    """Return a manifest: ``_`` in the name of a group stands for ``-``."""
    return tuple(
        _object(
            "KubeadmControlPlane"
            if name == "control_plane"
            else "MachineDeployment",
            name.replace("_", "-"),
            machine,
        )
        for name, machine in machines.items()
    )


def _record(
    generation: int | str = 1, stamp: str = "v1-a", version: int = 4
) -> helm_records.RevisionContent:
    return helm_records.RevisionContent(
        version=version,
        status="deployed",
        chart_name="openstack-cluster",
        chart_version="0.27.0",
        values=_values(generation, stamp=stamp),
        manifest="",
        objects=_objects(control_plane="a", default_worker="a", gpu="a"),
        record={},
    )


_OLDER = "is of upgrade 1, the release of upgrade 2"
_VERSION = "has Kubernetes v1.35.1, the control plane v"


def _permitted(revision: int, *, back: bool = False) -> Any:
    return _desired(permission=_Permission(revision, None, back=back))


def _of(release: str) -> Any:
    secret = f"{release}-cloud-credentials"
    return _desired(cloudCredentialsSecretName=secret)


class OutdatedTest(test_base.BaseTestCase):
    """Generation, owner and version of the stored state."""

    #: Desired state, generation of record and of live Cluster, version of the
    #: live control plane -> reason, after "the stored desired state ".
    rows: tuple[tuple[Any, int | str, int | str, str, str], ...] = (
        (_desired(), 1, 1, "v1.35.1", ""),
        # Somebody wrote another annotation: the other number counts.
        (_desired(), 1, "many", "v1.35.1", ""),
        (_desired(), 2, "many", "v1.35.1", _OLDER),
        # An older version of the driver accepted a rollback.
        (_desired(generation=2, version="1.34.2"), 1, 1, "v1.35.1", ""),
        (_desired(generation=2), 1, 1, "v1.34.2", ""),
        (_desired(), 0, 0, "v1.34.2", ""),
        (_desired(), 1, 1, "", ""),
        (_desired(), 2, 1, "v1.35.1", _OLDER),
        (_desired(), 1, 2, "v1.35.1", _OLDER),
        (_desired(), 1, 1, "v1.36.0", f"{_VERSION}1.36.0"),
        (_permitted(4), 0, 0, "v1.35.2", f"{_VERSION}1.35.2"),
        (_permitted(4, back=True), 1, 1, "v1.36.0", ""),
        (_permitted(3, back=True), 1, 1, "v1.36.0", f"{_VERSION}1.36.0"),
        (_of("web-2"), 1, 1, "v1.35.1", "is of another cluster (web-2-%s)"),
        (_of("web-1"), 1, 1, "v1.35.1", ""),
    )

    def test_an_older_or_foreign_state_has_a_reason(self) -> None:
        for desired, recorded, live, version, why in self.rows:
            why = why.replace("%s", "cloud-credentials")
            reason = f"the stored desired state {why}" if why else ""
            cluster = {"metadata": {"annotations": {_COUNTER: str(live)}}}
            control_plane = {"spec": {"version": version}}
            self.assertEqual(
                reason,
                template_guard.outdated(
                    _RELEASE,
                    desired,
                    _record(recorded),
                    cluster,
                    control_plane,
                ),
            )


_GPU, _PLANE = {"gpu": "b"}, {"control_plane": "b"}
_WORKERS = {**_GPU, "default_worker": "b"}
_ONE = frozenset({"gpu"})


class UnaskedTest(test_base.BaseTestCase):
    """Groups that other machines would be made for."""

    #: Permission, generation of the state, record, objects after -> groups.
    rows: tuple[tuple[Any, int, Any, dict[str, str], tuple[str, ...]], ...] = (
        # Nothing differs.
        (None, 1, _record(), {}, ()),
        (None, 1, _record(), _GPU, ("gpu",)),
        (None, 1, _record(), {**_PLANE, **_GPU}, ("control-plane", "gpu")),
        # The permission is for the revision that helm compares with.
        (_Permission(4, None), 2, _record(), _PLANE, ()),
        (_Permission(3, None), 2, _record(), _PLANE, ("control-plane",)),
        (_Permission(4, _ONE), 2, _record(), _GPU, ()),
        (_Permission(4, _ONE), 2, _record(), _WORKERS, ("default-worker",)),
        # An older version of the driver names no groups.
        (None, 2, _record(), _GPU, ()),
        (None, 2, _record(stamp=""), _GPU, ("gpu",)),
    )

    def test_groups_without_permission_are_named(self) -> None:
        rows_now = _rows("default-worker", "gpu")
        for permission, generation, record, changed, groups in self.rows:
            machines = {"control_plane": "a", "default_worker": "a"}
            after = _objects(**{**machines, "gpu": "a", **changed})
            desired = _desired(generation, permission=permission)
            comparison = template_guard.Comparison(_RELEASE, record, after)
            self.assertEqual(groups, comparison.unasked(desired, rows_now))

    def test_a_group_goes_only_with_its_row(self) -> None:
        after = _objects(control_plane="a", default_worker="a")
        for left, groups in (
            (("default-worker", "gpu"), ("gpu",)),
            (("default-worker",), ()),
        ):
            comparison = template_guard.Comparison(_RELEASE, _record(), after)
            self.assertEqual(
                groups, comparison.unasked(_desired(), _rows(*left))
            )


def _rows(*names: str) -> requested_groups.Rows:
    groups = tuple(
        requested_groups.Group(name, name, name, False, 1) for name in names
    )
    return requested_groups.Rows("u", _RELEASE, groups)


_SECRET = (kinds.SECRET, base.NAMESPACE, base.INTENT)

OLDER = "is of upgrade 0, the release of upgrade "
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
        return dict(self.live(kinds.SECRET, base.INTENT)["data"])

    def put(self, data: dict[str, Any]) -> None:
        gone = dict.fromkeys(self.data())
        self.server.patch(*_SECRET, {"data": {**gone, **data}})

    def stored(self) -> desired_state.DesiredState:
        return desired_state.from_secret(self.data())

    def change_stored(self, **values: Any) -> None:
        stored = self.stored()
        changed = {**stored.values, **values}
        self.put(dataclasses.replace(stored, values=changed).to_secret())

    def upgraded(self, image: str = "ubuntu-1.35") -> None:
        """Upgrade the cluster, and wait until it is complete."""
        self.image = image
        self.upgrade(self.template(image_id=image))
        self.assert_updated()

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

    def machines_made_of(self) -> dict[str, Any]:
        found = {}
        for kind in (kinds.CONTROL_PLANE, kinds.MACHINE_DEPLOYMENT):
            for each in self.server.list(kind, base.NAMESPACE):
                spec = {**each["spec"], "replicas": 0}
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
    Way("upgrade_by_another_program", "has Kubernetes v1.34.2"),
    Way("damage", DAMAGED),
    Way("lose_helm_records", "release", _LATER),
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

    def upgrade_by_another_program(self) -> None:
        self.helm_of_others("1.35.1")

    def damage(self) -> None:
        self.put({**self.first, "values.json.gz": "bm90IGd6aXA="})

    def lose_helm_records(self) -> None:
        for version in range(1, self.newest() + 1):
            self.lose_helm_record(version)

    def lose_helm_record(self, version: int) -> None:
        name = names.helm_record(base.RELEASE, version)
        self.server.delete(kinds.SECRET, base.NAMESPACE, name)

    def newest(self) -> int:
        where = (kinds.SECRET, base.NAMESPACE, "owner=helm")
        return len(self.server.list(*where))

    def rebuild_the_chart_without_a_deployed_revision(self) -> None:
        self.relabel(self.newest(), status="superseded")
        builds.put_build(self.helm, builds.PATCHED)

    def restore_before_labels_of_a_group(self) -> None:
        self.change("mine", node_labels={"a.example.org/b": "c"})
        self.settle()
        self.put(self.first)

    def restore_before_a_group(self) -> None:
        groups = self.stored().values["nodeGroups"]
        self.change_stored(
            nodeGroups=[each for each in groups if each["name"] != "mine"]
        )

    def restore_records_before_an_upgrade(self) -> None:
        """Restore helm's records without Secret and objects."""
        self.upgraded()
        newest = self.newest()
        self.lose_helm_record(newest)
        self.relabel(newest - 1, status="deployed")

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
        rollout.apply(self.new_operation(), rollout.Order(chart=chart))

    def polls(self) -> None:
        """Let polls look at the cluster as it is, in progress, and failed."""
        for status in (None, "UPDATE_IN_PROGRESS", "UPDATE_FAILED"):
            self.save(status=status or self.row().status)
            for _ in range(2):
                self.poll_after(600)
                self.health_poll()
                self.capi.settle()

    def outcome(self, request: Callable[[], object]) -> str:
        """Return the reason of a refusal; empty: the request was accepted."""
        self.save(status="UPDATE_COMPLETE")
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


class RebuiltTest(OutdatedCase):
    """The chart store gets another build, and an upgrade comes."""

    def test_an_upgrade_of_one_nodegroup_replaces_no_other(self) -> None:
        before = self.machines_made_of()
        builds.put_build(self.helm, builds.PATCHED)
        text = self.refused(self.row().cluster_template, nodegroup="mine")
        self.assertIn("(control-plane, default-worker)", text)
        self.assertIn("the chart store has another build", text)
        self.assertEqual(before, self.machines_made_of())

    def test_a_newer_chart_alone_replaces_an_image_of_its_own(self) -> None:
        self.add("own", image_id="ubuntu-1.34.3")
        self.settle()
        builds.put_build(self.helm, {"own": "patched"})
        text = self.refused(self.template(image_id="ubuntu-1.35"))
        self.assertIn("(own)", text)
        builds.put_build(self.helm, {})
        self.helm.otherwise = {"own": "newer"}
        labels = {"capi_helm_chart_version": "0.28.0"}
        self.upgrade(self.template(image_id="ubuntu-1.35", labels=labels))
        self.assert_updated()
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
            self.assert_updated()
