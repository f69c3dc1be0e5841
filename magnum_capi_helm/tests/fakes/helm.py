# SPDX-License-Identifier: Apache-2.0

"""helm, without the program.

The same methods as :class:`magnum_capi_helm.helm.client.Helm`. It writes
release records in helm's own format and treats objects as helm does: it
patches by the difference of two manifests and never looks at what is live.
"""

from __future__ import annotations

from collections.abc import Mapping
import dataclasses
import enum
import json
import pathlib
import re
from typing import Any

from magnum_capi_helm.helm import packages
from magnum_capi_helm.kubernetes import kinds
from magnum_capi_helm.model import audit
from magnum_capi_helm.model import errors
from magnum_capi_helm.model import lease_guard
from magnum_capi_helm.tests.fakes import api_server
from magnum_capi_helm.tests.fakes import chart as charts
from magnum_capi_helm.tests.fakes import management
from magnum_capi_helm.tests.fakes import manifests
from magnum_capi_helm.tests.fakes import mapping
from magnum_capi_helm.tests.fakes import records
from magnum_capi_helm.tests.fakes import repository

_HISTORY = 10


class Outcome(enum.Enum):
    """How a run of helm may end."""

    DONE = "done"
    BUSY = "busy"
    UNREACHABLE = "unreachable"
    REFUSED = "refused"
    #: A webhook did not answer half way: nothing written but the record.
    INTERRUPTED = "interrupted"
    #: All was done, but helm ran out of time before it could say so.
    LATE = "late"
    #: Nothing was deleted: the requests were lost, and helm does not mind.
    LEFT = "left"
    #: helm was killed before any object was written; its conductor lives.
    BROKEN_OFF = "broken off"
    #: helm and its conductor were killed before any object was written.
    KILLED = "killed"


@dataclasses.dataclass(frozen=True)
class Call:
    """One upgrade that was asked for.

    :param asked: who asked for it
    """

    release: str
    chart_version: str
    values: dict[str, Any]
    asked: str = ""


class FakeHelm(repository.FakeRepository):
    """helm against a :class:`management.FakeManagement`.

    :param client: whose faults helm meets as well
    """

    def __init__(self, client: management.FakeManagement) -> None:
        super().__init__()
        self._client = client
        self._server = client.server
        self.installed = "v3.20.2"
        self.upgrades: list[Call] = []
        #: How often it rendered a chart that is not an addon's.
        self.renders = 0
        self.uninstalls: list[str] = []
        #: How the next runs end; afterwards all end well.
        self.outcomes: list[Outcome] = []
        #: What this helm makes of any chart otherwise than others do
        #: (``chart.render``).
        self.otherwise: dict[str, str] = {}
        #: Why ``helm template`` refuses every cluster chart; empty: it does
        #: not.
        self.refused = ""

    def upgrade(
        self,
        release: str,
        namespace: str,
        chart: str,
        values: Mapping[str, Any],
        *,
        within: float | None = None,
    ) -> float:
        """As the real one."""
        lease_guard.check()
        asked = str(audit.current() or "")
        call = Call(release, _chart_version(chart), dict(values), asked)
        self.upgrades.append(call)
        outcome = self._outcome()
        if outcome is Outcome.UNREACHABLE or not self._client.answers:
            raise errors.HelmUnreachable(
                "helm upgrade: Kubernetes cluster unreachable"
            )
        history = self._history(namespace, release)
        busy = history and history[-1]["status"].startswith("pending-")
        if outcome is Outcome.BUSY or busy:
            raise errors.HelmBusy(
                "helm upgrade: another operation (install/upgrade/rollback)"
                " is in progress"
            )
        revision = records.Revision(
            release=release,
            namespace=namespace,
            version=history[-1]["version"] + 1 if history else 1,
            status="pending-upgrade" if history else "pending-install",
            chart_version=call.chart_version,
            values=call.values,
            build={**_build(chart), **self.otherwise},
            labels=history[-1]["labels"] if history else {},
        )
        mapping.look_up(self._client, _compared(history), "current")
        mapping.look_up(self._client, revision.objects(), "new")
        self._server.create(kinds.SECRET, revision.record())
        self._finish(revision, history, outcome)
        return 0.0

    def uninstall(self, release: str, namespace: str) -> float:
        """As the real one."""
        lease_guard.check()
        self.uninstalls.append(release)
        outcome = self._outcome()
        if outcome is Outcome.UNREACHABLE or not self._client.answers:
            raise errors.HelmUnreachable(
                "helm uninstall: Kubernetes cluster unreachable"
            )
        history = self._history(namespace, release)
        found = history[-1]["objects"] if history else []
        doomed = [each for each in found if not manifests.kept(each)]
        if history:
            self._relabel(namespace, history[-1]["name"], "uninstalling")
        refused = outcome is Outcome.REFUSED
        mapping.look_up_to_delete(self._client, doomed, release, refused)
        for obj in doomed:
            manifests.delete(self._server, obj)
        for each in history:
            self._server.delete(kinds.SECRET, namespace, each["name"])
        return 0.0

    def version(self) -> str:
        """The version of the helm program."""
        return self.installed

    def render(
        self,
        release: str,
        namespace: str,
        chart: str,
        values: Mapping[str, Any],
        *,
        live: bool = False,
        hooks: bool = False,
    ) -> str:
        """As the real one; the chart of an addon is one Pod."""
        if live and not self._client.answers:
            raise errors.HelmUnreachable(
                "helm template: Kubernetes cluster unreachable"
            )
        if "openstack-cluster" not in chart:
            name = pathlib.Path(chart).stem
            pod = {"kind": "Pod", "spec": {"image": f"reg.test/{name}"}}
            return json.dumps(pod)
        self.renders += 1
        if self.refused:
            raise errors.HelmError(f"helm template: {self.refused}")
        build = {**_build(chart), **self.otherwise}
        made = charts.render(release, namespace, dict(values), build)
        return records.SEPARATOR.join(map(json.dumps, made))

    def _outcome(self) -> Outcome:
        return self.outcomes.pop(0) if self.outcomes else Outcome.DONE

    def _finish(
        self,
        revision: records.Revision,
        history: list[dict[str, Any]],
        outcome: Outcome,
    ) -> None:
        if outcome is Outcome.KILLED:
            self._client.dead = True
            raise management.Killed
        if outcome is Outcome.BROKEN_OFF:
            raise errors.HelmUnreachable("helm upgrade was killed (SIGKILL)")
        if outcome in (Outcome.REFUSED, Outcome.INTERRUPTED):
            self._record(dataclasses.replace(revision, status="failed"))
        if outcome is Outcome.INTERRUPTED:
            raise errors.HelmUnreachable(
                "helm upgrade: failed calling webhook: timed out"
            )
        if outcome is Outcome.REFUSED:
            raise errors.HelmError(
                "helm upgrade: admission webhook denied the request"
            )
        deployed = [each for each in history if each["status"] == "deployed"]
        base = _compared(history)
        wanted = revision.objects()
        kept = {manifests.identity(each) for each in wanted}
        if outcome is Outcome.LEFT:
            base = [each for each in base if manifests.identity(each) in kept]
        manifests.apply(self._server, revision.release, base, wanted)
        for each in deployed:
            self._relabel(revision.namespace, each["name"], "superseded")
        self._record(dataclasses.replace(revision, status="deployed"))
        for each in history[: max(0, len(history) + 1 - _HISTORY)]:
            self._server.delete(kinds.SECRET, revision.namespace, each["name"])
        if outcome is Outcome.LATE:
            raise errors.HelmUnreachable(
                "helm upgrade did not end within 330 s"
            )

    def _history(self, namespace: str, release: str) -> list[dict[str, Any]]:
        selector = f"owner=helm,name={release}"
        found = self._server.list(kinds.SECRET, namespace, selector)
        history = []
        for each in found:
            labels = each["metadata"]["labels"]
            manifest = records.unpack(each["data"]["release"])["manifest"]
            history.append(
                {
                    "name": each["metadata"]["name"],
                    "version": int(labels["version"]),
                    "status": labels["status"],
                    "labels": labels,
                    "objects": [
                        json.loads(each)
                        for each in manifest.split(records.SEPARATOR)
                    ],
                }
            )
        return sorted(history, key=lambda each: each["version"])

    def _record(self, revision: records.Revision) -> None:
        self._server.replace(kinds.SECRET, revision.record())

    def _relabel(self, namespace: str, name: str, status: str) -> None:
        """helm writes the record anew; of annotations it knows nothing."""
        change = {"labels": {"status": status}, "annotations": None}
        self._server.patch(kinds.SECRET, namespace, name, {"metadata": change})


def _compared(history: list[dict[str, Any]]) -> list[api_server.Object]:
    """The manifest with which helm compares a new one."""
    deployed = [each for each in history if each["status"] == "deployed"]
    return (deployed or history)[-1]["objects"] if history else []


def _build(path: str) -> dict[str, str]:
    """What a packaged chart does otherwise than other builds of it."""
    try:
        found: dict[str, str] = packages.read(path).values.get("build") or {}
    except errors.ChartUnavailable:
        # A path that stands for a chart.
        return {}
    return found


def _chart_version(path: str) -> str:
    found = re.search(r"-([0-9][^/]*)\.tgz$", path)
    return found[1] if found else "0.0.0"
