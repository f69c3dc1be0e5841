# SPDX-License-Identifier: Apache-2.0

"""helm, without the program.

The same methods as :class:`magnum_capi_helm.helm.client.Helm`. It writes
release records in helm's own format and treats objects as helm does: it
patches by the difference of two manifests and never looks at what is live.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
import dataclasses
import enum
import json
import pathlib
import re
from typing import Any

from magnum_capi_helm.chart import patches
from magnum_capi_helm.helm import charts
from magnum_capi_helm.helm import complaints
from magnum_capi_helm.kubernetes import kinds
from magnum_capi_helm.model import call
from magnum_capi_helm.model import errors
from magnum_capi_helm.tests.fakes import api_server
from magnum_capi_helm.tests.fakes import chart as fake_chart
from magnum_capi_helm.tests.fakes import management
from magnum_capi_helm.tests.fakes import records


class FakeRepository:
    """A repository that has any chart, with a few default values."""

    def __init__(self) -> None:
        self.pulls: list[str] = []
        #: Chart versions that it has; None: all.
        self.published: set[str] | None = None
        #: What its builds of charts do otherwise (``chart.render``).
        self.build: dict[str, str] = {}

    def pull(
        self, chart: str, version: str, repository: str, directory: str
    ) -> None:
        """As the real one."""
        self.pulls.append(version)
        if self.published is not None and version not in self.published:
            raise errors.ChartUnavailable(
                f"helm pull: chart {chart} version {version} not found"
            )
        name = chart.rsplit("/", 1)[-1]
        packed = fake_chart.package(
            name,
            version,
            {"build": self.build},
            {"addons": fake_chart.ADDONS},
        )
        pathlib.Path(directory, f"{name}-{version}.tgz").write_bytes(packed)

    def package(self, source: str, directory: str) -> None:
        """As the real one."""
        name, version = charts.of_directory(source)
        self.pull(name, version, "", directory)

    def index(self, directory: str) -> None:
        """As the real one."""
        packed = pathlib.Path(directory).glob("*.tgz")
        found = charts.read
        entries = {found(each).name: found(each).version for each in packed}
        pathlib.Path(directory, "index.yaml").write_text(json.dumps(entries))


def apply_objects(
    server: api_server.ApiServer,
    release: str,
    old: list[api_server.Object],
    new: list[api_server.Object],
) -> None:
    """Change by the difference of two manifests, whatever is live."""
    before = {identity(each): each for each in old}
    for obj in new:
        kind, namespace, name = identity(obj)
        live = server.get(kind, namespace, name)
        if live is None:
            _create(server, release, obj)
            continue
        change = api_server.difference(
            before.pop((kind, namespace, name), live), obj
        )
        change.pop("apiVersion", None)
        change.pop("status", None)
        server.patch(kind, namespace, name, change)
    wanted = {identity(each) for each in new}
    for gone, obj in before.items():
        if gone not in wanted and not is_kept(obj):
            remove(server, obj)


def _create(
    server: api_server.ApiServer, release: str, obj: api_server.Object
) -> None:
    """With what helm writes on all that it makes."""
    kind, namespace, _ = identity(obj)
    meta = obj["metadata"]
    owner = {
        "meta.helm.sh/release-name": release,
        "meta.helm.sh/release-namespace": namespace,
    }
    annotations = {**meta["annotations"], **owner}
    made = {**obj, "metadata": {**meta, "annotations": annotations}}
    server.create(kind, made)


def remove(server: api_server.ApiServer, obj: api_server.Object) -> None:
    """Delete an object of a manifest."""
    server.delete(*identity(obj))


def identity(obj: api_server.Object) -> tuple[kinds.Kind, str, str]:
    """Kind, namespace and name of an object."""
    meta = obj["metadata"]
    return api_server.BY_NAME[obj["kind"]], meta["namespace"], meta["name"]


def is_kept(obj: api_server.Object) -> bool:
    """Whether helm leaves it where it is."""
    annotations: dict[str, str] = obj["metadata"]["annotations"]
    return fake_chart.KEEP.items() <= annotations.items()


def look_up(
    client: management.FakeManagement,
    objects: Iterable[api_server.Object],
    manifest: str,
) -> None:
    """Look up what an upgrade is about.

    :param manifest: as helm names it: ``current release manifest``, ``new
        release manifest``, or of helm 4's template ``release manifest``
    :raises HelmError: there is an object that is not served as it is named
    """
    if why := _unmapped(client, objects):
        text = (
            f"unable to build kubernetes objects from {manifest}: "
            f"[{', '.join(why)}]"
        )
        if manifest == "release manifest":
            raise complaints.translated("template", f"Error: {text}".encode())
        text = f"Error: UPGRADE FAILED: {text}"
        raise complaints.translated("upgrade", text.encode())


def look_up_to_delete(
    client: management.FakeManagement,
    objects: Iterable[api_server.Object],
    release: str,
    refused: bool,
) -> None:
    """Look up what is to be deleted.

    :param refused: it can't be deleted for another reason, which helm does
        not tell either
    :raises HelmError: so it is, or one is not served as it is named
    """
    if refused or _unmapped(client, objects):
        text = f"Error: failed to delete release: {release}"
        raise complaints.translated("uninstall", text.encode())


def _unmapped(
    client: management.FakeManagement, objects: Iterable[api_server.Object]
) -> list[str]:
    found = []
    for each in objects:
        group, _, version = each["apiVersion"].rpartition("/")
        if version not in client.mapped(group).get(each["kind"], ()):
            meta = each["metadata"]
            found.append(
                f'resource mapping not found for name: "{meta["name"]}" '
                f'namespace: "{meta["namespace"]}" from "": no matches for '
                f'kind "{each["kind"]}" in version "{each["apiVersion"]}"\n'
                "ensure CRDs are installed first"
            )
    return found


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
    #: The conductor was killed just before it started helm.
    NOT_STARTED = "not started"


@dataclasses.dataclass(frozen=True)
class Call:
    """One upgrade that was asked for.

    :param asked: who asked for it
    """

    release: str
    chart_version: str
    values: dict[str, Any]
    asked: str = ""


class FakeHelm(FakeRepository):
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
        self.refusal: type[errors.HelmError] = errors.HelmError

    def upgrade(
        self,
        release: str,
        namespace: str,
        chart: str,
        values: Mapping[str, Any],
        *,
        within: float | None = None,
        convert: Collection[str] = (),
        patch: Sequence[patches.Patch] = (),
    ) -> float:
        """As the real one."""
        call.check_lease()
        asked = str(call.actor() or "")
        upgrade = Call(release, _chart_version(chart), dict(values), asked)
        outcome = self._outcome()
        if outcome is Outcome.NOT_STARTED:
            self._client.dead = True
            raise management.Killed
        self.upgrades.append(upgrade)
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
            chart_version=upgrade.chart_version,
            values=upgrade.values,
            build={**_build(chart), **self.otherwise},
            labels=history[-1]["labels"] if history else {},
            converted=frozenset(convert),
            patch=patch,
        )
        look_up(self._client, _compared(history), "current release manifest")
        look_up(self._client, revision.objects(), "new release manifest")
        self._server.create(kinds.SECRET, revision.record())
        self._finish(revision, history, outcome)
        return 0.0

    def uninstall(self, release: str, namespace: str) -> float:
        """As the real one."""
        call.check_lease()
        self.uninstalls.append(release)
        outcome = self._outcome()
        if outcome is Outcome.UNREACHABLE or not self._client.answers:
            raise errors.HelmUnreachable(
                "helm uninstall: Kubernetes cluster unreachable"
            )
        history = self._history(namespace, release)
        found = history[-1]["objects"] if history else []
        doomed = [each for each in found if not is_kept(each)]
        if history:
            self._relabel(namespace, history[-1]["name"], "uninstalling")
        refused = outcome is Outcome.REFUSED
        look_up_to_delete(self._client, doomed, release, refused)
        for obj in doomed:
            remove(self._server, obj)
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
        convert: Collection[str] = (),
        patch: Sequence[patches.Patch] = (),
    ) -> tuple[dict[str, Any], ...]:
        """As the real one; the chart of an addon is one Pod."""
        if live and not self._client.answers:
            raise errors.HelmUnreachable(
                "helm template: Kubernetes cluster unreachable"
            )
        if "openstack-cluster" not in chart:
            name = pathlib.Path(chart).stem
            pod = {"kind": "Pod", "spec": {"image": f"reg.test/{name}"}}
            return (pod,)
        self.renders += 1
        if self.refused:
            raise self.refusal(f"helm template: {self.refused}")
        build = {**_build(chart), **self.otherwise}
        made = fake_chart.render(release, namespace, dict(values), build)
        if live and self.installed.startswith("v4"):
            try:
                made = records.post_rendered(made, convert, patch)
            except errors.Unconvertible:
                raise errors.Unconvertible(
                    "helm template: error while running post render on files"
                ) from None
            look_up(self._client, made, "release manifest")
        else:
            made = [*patches.applied(made, patch)]
        return tuple(json.loads(json.dumps(made)))

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
        kept = {identity(each) for each in wanted}
        if outcome is Outcome.LEFT:
            base = [each for each in base if identity(each) in kept]
        apply_objects(self._server, revision.release, base, wanted)
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
    """Return the differences of a packaged chart from other builds of it."""
    try:
        found: dict[str, str] = charts.read(path).values.get("build") or {}
    except errors.ChartUnavailable:
        # A path that stands for a chart.
        return {}
    return found


def _chart_version(path: str) -> str:
    found = re.search(r"-([0-9][^/]*)\.tgz$", path)
    return found[1] if found else "0.0.0"
