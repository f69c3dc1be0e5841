# SPDX-License-Identifier: Apache-2.0

"""The conductor dies in an upgrade by several minor versions, or is older."""

from __future__ import annotations

import collections
import contextlib
import functools
import os
import re
import shutil
import tempfile
import time
from typing import Any, NamedTuple

from keystoneauth1 import exceptions as ka_exceptions

from lab.chaos import case
from lab.chaos import conductors
from lab.chaos import faults
from magnum_capi_helm.kubernetes import kinds
from magnum_capi_helm.status import view
from magnum_capi_helm.tests.functional import programs
from magnum_capi_helm.tests.functional.further import test_minors

_OLD, _BETWEEN, _NEW = "v1.34.2", "v1.35.1", "v1.36.3"
_IMAGE = f"ubuntu-{_OLD}"
#: The last commit before upgrades had steps.
_OLDER = os.environ.get("OLDER_COMMIT") or "bf924629"
#: Seconds in which an older conductor polls several times.
_POLLS = 20
_ENDED = ("UPDATE_COMPLETE", "UPDATE_FAILED")
_PLAN = r'"upgrade-steps\.json\.gz": ?'


class Moment(NamedTuple):
    """A request to the management cluster; the conductor dies after it.

    :ivar path: a pattern; ``{}`` is the release
    :ivar body: a pattern, after which ``but`` must not match
    """

    name: str
    method: str
    path: str
    body: str = ""
    but: str = "no such text"

    def is_asked(self, release: str, request: faults.Request) -> bool:
        """Return whether a request is this one."""
        body = request.body.decode(errors="replace")
        return bool(
            request.method == self.method
            and "dryRun" not in request.path
            and re.search(self.path.format(release), request.path)
            and re.search(self.body, body)
            and not re.search(self.but, body)
        )


_SECRET = ("PATCH", "/secrets/{}-intent")
_CLUSTER = ("PATCH", r"/clusters/{}\b")
_STATE = r'"intent\.json": ?"'
#: In their order.
MOMENTS = (
    Moment("the plan is stored", *_SECRET, f'{_PLAN}"'),
    Moment("helm is done", "PUT", r"/secrets/sh.helm.release.v1.{}.v2\b"),
    Moment("the second step is next", *_SECRET, f'{_PLAN}"', _STATE),
    Moment("helm works", "PATCH", "/kubeadmcontrolplanes/{}-control-plane"),
    Moment("the second step is shown", *_CLUSTER, "step 2 of 3"),
    Moment("the state of workers is stored", *_SECRET, _STATE, _PLAN),
    Moment("the machines are noted", *_SECRET, f'{_PLAN}"', _STATE),
    Moment("the end is shown", *_CLUSTER, r'/plan": ?null'),
)


class KilledTest(test_minors.MinorsCase):
    """One conductor, behind a proxy."""

    def setUp(self) -> None:
        super().setUp()
        programs.refuse_in_company("a killed conductor")
        self.between, kubeconfig = case.before_kubernetes(
            self, programs.LAB / "driver-kubeconfig"
        )
        self.conductors = conductors.Conductors(lambda: self.between.port)
        self.configure(kubeconfig_file=str(kubeconfig), helm_timeout="60")
        self.left = list(MOMENTS)
        #: UID of each machine that was ever there -> its version.
        self.masters: dict[str, str] = {}
        self.workers: dict[str, str] = {}
        self.wrong: list[str] = []

    def test_each_step_is_taken_once(self) -> None:
        new = self.template(image_id=self.image(_NEW))
        self.make(self.template(image_id=_IMAGE), node_count=2)
        self.addCleanup(self.conductors.recover)
        self.addCleanup(self.between.recover)
        self._die_next()
        with contextlib.suppress(ka_exceptions.ConnectionError):
            self.accept(new)
        self.until(self._is_over, 900, lambda: str(self.left))
        self.assertEqual([], [each.name for each in self.left])
        self.complete()
        self._look()
        self.assertEqual([], self.wrong)
        self.assertEqual(
            {_OLD: 1, _BETWEEN: 1, _NEW: 1},
            collections.Counter(self.masters.values()),
        )
        self.assertEqual(
            {_OLD: 2, _NEW: 2}, collections.Counter(self.workers.values())
        )
        self.assertEqual(
            _NEW, (self.magnum.find(self.uuid) or {})["coe_version"]
        )
        self.assertEqual(1, len(self.credentials_of(self.uuid)))
        self.delete(self.uuid)
        self.assert_all_gone(self.release)

    def _die_next(self) -> None:
        """Let the conductor die at the next moment."""
        moment = self.left[0]

        def die(request: faults.Request) -> None:
            self.left.pop(0)
            if self.left:
                self._die_next()
            self.conductors.kill(request)

        self.between.when(
            functools.partial(moment.is_asked, self.release),
            faults.after(die),
        )

    def _is_over(self) -> bool:
        self._look()
        try:
            row = self.magnum.find(self.uuid) or {}
        except ka_exceptions.ConnectionError:
            return False
        if row["status"] == "UPDATE_FAILED":
            self.wrong.append(str(row["status_reason"]))
        return not self.left and row["status"] in _ENDED

    def _look(self) -> None:
        """Note the machines; none may be far behind the control plane."""
        wanted = self.control_plane()
        for found, known in (
            (self.machines(masters=True), self.masters),
            (self.machines(), self.workers),
        ):
            for uid, each in found.items():
                known[uid] = view.spec_of(each)["version"]
        if wanted == _NEW and _OLD in {
            view.spec_of(each)["version"]
            for each in self.machines(masters=True).values()
        }:
            self.wrong.append("the control plane skips a minor version")


class OlderTest(test_minors.MinorsCase):
    """A conductor of an older commit takes over in a step."""

    def setUp(self) -> None:
        super().setUp()
        programs.refuse_in_company("an older commit")
        folder = tempfile.mkdtemp(prefix="older-")
        self.addCleanup(shutil.rmtree, folder)
        self.older = programs.older_driver(_OLDER, folder)

    def test_an_older_conductor_stands_aside(self) -> None:
        new = self.template(image_id=self.image(_NEW))
        self.make(self.template(image_id=_IMAGE))
        self.addCleanup(programs.lab, "restart", "magnum")
        self.accept(new)
        self.until_step(1)
        self._older()
        self.until(lambda: self._has(_BETWEEN), 240)
        before = self._stored()
        # It changes the row alone; a newer conductor adds the worker.
        path = f"/clusters/{self.uuid}/actions/resize"
        self.magnum.call("POST", path, {"node_count": 2})
        time.sleep(_POLLS)
        self.assertEqual(before, self._stored())
        row = self.magnum.find(self.uuid) or {}
        self.assertIn("newer version of the driver", row["status_reason"])

        programs.lab("restart", "magnum")
        self.until_step(2)
        self._older()
        self.delete(self.uuid)
        self.assert_all_gone(self.release)
        self.assertEqual([], self.credentials_of(self.uuid))

    def _older(self) -> None:
        programs.lab("restart", "magnum", "--driver", str(self.older))

    def until_step(self, number: int) -> None:
        """Wait until the row shows a step."""
        text = f"upgrade, step {number} of 3"

        def reason() -> str:
            row = self.magnum.find(self.uuid) or {}
            self.assertNotIn(row["status"], _ENDED, str(row))
            return str(row["status_reason"])

        self.until(lambda: text in reason(), 300, reason)

    def _has(self, version: str) -> bool:
        """Return whether the control plane is done with a version."""
        found = self.machines(masters=True).values()
        return [
            (view.spec_of(each)["version"], view.status_of(each).get("phase"))
            for each in found
        ] == [(version, "Running")]

    def _stored(self) -> dict[str, Any]:
        """Return all that a wrong conductor could write."""
        intent = self.plane.get(
            kinds.SECRET, self.namespace, f"{self.release}-intent"
        )
        selector = f"owner=helm,name={self.release}"
        records = self.plane.list(kinds.SECRET, self.namespace, selector)
        row = self.magnum.find(self.uuid) or {}
        owners: dict[str, Any] = {
            view.name_of(each): view.spec_of(each)
            for kind in (kinds.CONTROL_PLANE, kinds.MACHINE_DEPLOYMENT)
            for each in self.plane.list(kind, self.namespace)
            if view.name_of(each).startswith(self.release)
        }
        return {
            "intent": (intent or {}).get("data"),
            "revisions": sorted(map(view.name_of, records)),
            "workers": sorted(self.machines()),
            "row": {k: row[k] for k in ("status", "cluster_template_id")},
            **owners,
        }
