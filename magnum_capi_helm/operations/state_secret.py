# SPDX-License-Identifier: Apache-2.0

"""What is kept for a release beside it, in the Secret of its intent.

The intent itself is written under the Lease alone. Requests about single
nodegroups are parked in keys of their own by whoever gets them, whether or
not somebody holds the Lease; who applies next takes them from there.
"""

from __future__ import annotations

from collections.abc import Mapping
import dataclasses
import time

from magnum_capi_helm import runtime
from magnum_capi_helm.chart import values
from magnum_capi_helm.helm import releases
from magnum_capi_helm.management import kinds
from magnum_capi_helm.management import snapshot
from magnum_capi_helm.model import cluster_spec
from magnum_capi_helm.model import desired_state
from magnum_capi_helm.model import errors
from magnum_capi_helm.model import names
from magnum_capi_helm.resolve import requested
from magnum_capi_helm.status import view


@dataclasses.dataclass(frozen=True)
class Kept:
    """What is kept for one release.

    :param wanted: the intent; None: it has none
    :param parked: what requests parked since it was written
    """

    wanted: desired_state.Intent | None = None
    parked: desired_state.Parked = dataclasses.field(
        default_factory=desired_state.Parked
    )

    @property
    def groups(self) -> frozenset[str]:
        """The chart's names of the node groups that were last wanted."""
        return values.group_names(self.wanted.values if self.wanted else {})


def read(rt: runtime.Runtime, scope: snapshot.Scope) -> Kept:
    """What was last wanted, and what requests parked since."""
    namespace, release = scope
    secret = rt.management.get(kinds.SECRET, namespace, names.intent(release))
    data = (secret or {}).get("data") or {}
    return Kept(
        wanted=desired_state.from_secret(data)
        if desired_state.has_intent(data)
        else None,
        parked=desired_state.parked(data),
    )


def base(
    rt: runtime.Runtime,
    scope: snapshot.Scope,
    revisions: tuple[view.Revision, ...] | None = None,
    known: Kept | None = None,
) -> Kept:
    """As :func:`read`; without an intent, what the release says.

    :param known: what :func:`read` returned
    """
    found = known or read(rt, scope)
    if found.wanted is not None:
        return found
    if revisions is None:
        revisions = releases.revisions(rt.management, *scope)
    adopted = _adopted(rt, scope, revisions)
    return dataclasses.replace(found, wanted=adopted)


def park(
    rt: runtime.Runtime,
    scope: snapshot.Scope,
    labels: dict[str, str],
    change: Mapping[str, str | None],
) -> None:
    """Put keys into the Secret of the intent, or take them out (None).

    Atomic, and needs no Lease: no other key is touched.

    :param labels: labels for a Secret that has to be made
    """
    namespace, release = scope
    name = names.intent(release)

    def patched() -> bool:
        return bool(
            rt.management.patch(
                kinds.SECRET, namespace, name, {"data": dict(change)}
            )
        )

    new = {key: value for key, value in change.items() if value is not None}
    if patched() or not new:
        return
    try:
        rt.management.create(
            kinds.SECRET,
            {
                "metadata": {
                    "name": name,
                    "namespace": namespace,
                    "labels": labels,
                },
                "type": "Opaque",
                "data": new,
            },
        )
    except errors.Conflict:
        patched()


def _adopted(
    rt: runtime.Runtime,
    scope: snapshot.Scope,
    revisions: tuple[view.Revision, ...],
) -> desired_state.Intent | None:
    """The intent of a cluster that 1.4.0 made: what its release says."""
    for revision in reversed(revisions):
        if revision.status != "deployed":
            continue
        found = releases.read(rt.management, *scope, revision.version)
        if found is not None:
            configured = requested.configured_chart()
            chart: cluster_spec.Chart = dataclasses.replace(
                configured, version=found.chart_version
            )
            return desired_state.Intent(chart, found.values, "", time.time())
    return None
