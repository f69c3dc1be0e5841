# Licensed under the Apache License, Version 2.0 (the "License"); you may
# not use this file except in compliance with the License. You may obtain
# a copy of the License at
#
#      http://www.apache.org/licenses/LICENSE-2.0
#
# Unless required by applicable law or agreed to in writing, software
# distributed under the License is distributed on an "AS IS" BASIS, WITHOUT
# WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the
# License for the specific language governing permissions and limitations
# under the License.

"""Views of releases, shared by all polls of a process.

A caller says how fresh a view it needs (``not_before``, on the monotonic
clock); the age of a view counts from the *start* of its reading. A request
that arrives while a reading is under way that began too early waits for the
next one, which all that wait share. A reading that fails, fails once for all
of them; nobody takes a stale view for it.
"""

from __future__ import annotations

from collections.abc import Callable
import dataclasses
import threading
import time
from typing import TypeAlias

from magnum_capi_helm import exceptions
from magnum_capi_helm.helm import releases
from magnum_capi_helm.management import client
from magnum_capi_helm.management import kinds
from magnum_capi_helm.status import conditions
from magnum_capi_helm.status import view

#: Namespace and release.
Scope: TypeAlias = tuple[str, str]

#: Seconds for which polls may share a view when they ask for no fresh one.
MAX_AGE = 2.0


@dataclasses.dataclass
class _Reading:
    """One reading of one release, under way or done."""

    started: float
    done: threading.Event = dataclasses.field(default_factory=threading.Event)
    view: view.View | None = None
    error: exceptions.CapiHelmError | None = None


class Snapshots:
    """Readings of releases on one management cluster.

    :param read: reads a release; :func:`read` with a client
    :param clock: monotonic seconds
    """

    def __init__(
        self,
        read: Callable[[Scope], view.View],
        clock: Callable[[], float] = time.monotonic,
        max_age: float = MAX_AGE,
    ) -> None:
        self._read = read
        self._clock = clock
        self._max_age = max_age
        self._lock = threading.Lock()
        self._readings: dict[Scope, _Reading] = {}

    def get(
        self, scope: Scope, *, not_before: float = float("-inf")
    ) -> view.View:
        """A view whose reading started at ``not_before`` or later.

        :raises CapiHelmError: the reading failed; there is no view
        """
        wanted = max(self._clock() - self._max_age, not_before)
        while True:
            reading, mine = self._join(scope, wanted)
            if mine:
                self._fill(scope, reading)
            reading.done.wait()
            if reading.started >= wanted:
                return _result(reading)

    def _join(self, scope: Scope, wanted: float) -> tuple[_Reading, bool]:
        """The reading to wait for, and whether the caller has to do it."""
        with self._lock:
            reading = self._readings.get(scope)
            if reading is not None and (
                reading.started >= wanted or not reading.done.is_set()
            ):
                return reading, False
            reading = self._readings[scope] = _Reading(self._clock())
            return reading, True

    def forget(self, scope: Scope) -> None:
        """Drop what is known of a release that is gone."""
        with self._lock:
            self._readings.pop(scope, None)

    def _fill(self, scope: Scope, reading: _Reading) -> None:
        try:
            reading.view = self._read(scope)
        except exceptions.CapiHelmError as error:
            reading.error = error
        except BaseException as error:
            reading.error = exceptions.ManagementError(
                f"reading {scope[1]} broke off: {type(error).__name__}"
            )
            raise
        finally:
            reading.done.set()


def _result(reading: _Reading) -> view.View:
    if reading.view is None:
        raise reading.error or exceptions.ManagementError("nothing was read")
    return reading.view


def read(management: client.Client, scope: Scope) -> view.View:
    """Read one release: seven LISTs, nine when something is not ready."""
    seen = dataclasses.replace(
        read_objects(management, scope),
        addons=_addons(management, scope),
        revisions=releases.revisions(management, *scope),
    )
    return (
        seen if _ready(seen) else _with_infrastructure(management, seen, scope)
    )


def read_objects(management: client.Client, scope: Scope) -> view.View:
    """What health needs: Cluster API's own objects, in four LISTs."""
    namespace, release = scope
    chart = f"{view.CHART_CLUSTER_LABEL}={release}"
    clusters = management.list(kinds.CLUSTER, namespace, chart)
    planes = management.list(kinds.CONTROL_PLANE, namespace, chart)
    return view.View(
        release=release,
        cluster=clusters[0] if clusters else None,
        control_plane=planes[0] if planes else None,
        deployments=tuple(
            management.list(kinds.MACHINE_DEPLOYMENT, namespace, chart)
        ),
        machines=tuple(
            management.list(
                kinds.MACHINE,
                namespace,
                f"{view.CLUSTER_NAME_LABEL}={release}",
            )
        ),
    )


def _addons(
    management: client.Client, scope: Scope
) -> tuple[view.Object, ...]:
    namespace, release = scope
    chart = f"{view.CHART_CLUSTER_LABEL}={release}"
    return tuple(
        each
        for kind in (kinds.HELM_RELEASE, kinds.MANIFESTS)
        for each in management.list(kind, namespace, chart)
    )


def _with_infrastructure(
    management: client.Client, seen: view.View, scope: Scope
) -> view.View:
    """The provider's objects as well: they know why machines are late."""
    namespace, release = scope
    owned = f"{view.CLUSTER_NAME_LABEL}={release}"
    chart = f"{view.CHART_CLUSTER_LABEL}={release}"
    clusters = management.list(kinds.OPENSTACK_CLUSTER, namespace, chart)
    machines = management.list(kinds.OPENSTACK_MACHINE, namespace, owned)
    return dataclasses.replace(
        seen,
        infrastructure=clusters[0] if clusters else None,
        infra_machines=tuple(machines),
    )


def _ready(seen: view.View) -> bool:
    """Whether no reason will be asked for from below Cluster API."""
    available = conditions.available(seen.cluster)
    return (
        available is not None
        and available.well
        and all(view.status_of(each).get("nodeRef") for each in seen.machines)
    )
