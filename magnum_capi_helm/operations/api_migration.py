# SPDX-License-Identifier: Apache-2.0

"""Run helm when its record names API versions that are no longer served.

helm reads every object of its last manifest before it writes anything, in the
version that the manifest names. When a provider stops to serve that version,
helm refuses. The driver then writes served versions into the record and runs
helm again; as long as all versions are served, that costs nothing. Only under
the Lease.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
import time
from typing import Any

from oslo_log import log

from magnum_capi_helm import runtime
from magnum_capi_helm.helm import manifests
from magnum_capi_helm.kubernetes import helm_records
from magnum_capi_helm.kubernetes import kinds
from magnum_capi_helm.kubernetes import location
from magnum_capi_helm.model import api_versions
from magnum_capi_helm.model import encoding
from magnum_capi_helm.model import errors
from magnum_capi_helm.model import names
from magnum_capi_helm.status import view

LOG = log.getLogger(__name__)


def upgrade(
    rt: runtime.Runtime,
    scope: location.Scope,
    labels: dict[str, str],
    chart: str,
    values: Mapping[str, Any],
    within: float | None,
) -> tuple[float, bool]:
    """Run ``helm upgrade --install``.

    :param labels: of objects that the driver writes for the cluster
    :param within: seconds for all of it; None: helm's own deadline
    :returns: seconds that helm took, and whether its record was changed
    :raises HelmError: as helm says
    :raises Conflict: the record was written by another client meanwhile
    """
    started = time.monotonic()

    def run() -> float:
        passed = time.monotonic() - started
        left = within and max(within - passed, 1.0)
        return rt.helm.upgrade(scope[1], scope[0], chart, values, within=left)

    return _run(rt, scope, labels, run, last_deployed)


def uninstall(
    rt: runtime.Runtime, scope: location.Scope, labels: dict[str, str]
) -> None:
    """Run ``helm uninstall``, which reads the newest revision.

    :raises HelmError: as helm says
    :raises Conflict: the record was written by another client meanwhile
    """
    _run(
        rt,
        scope,
        labels,
        lambda: rt.helm.uninstall(scope[1], scope[0]),
        lambda revisions: revisions[-1],
    )


def last_deployed(revisions: Sequence[view.Revision]) -> view.Revision:
    """Return the revision with which helm compares a new one.

    ``prepareUpgrade`` in helm's ``pkg/action/upgrade.go``.

    :param revisions: at least one
    """
    deployed = [each for each in revisions if each.status == "deployed"]
    return (deployed or revisions)[-1]


def served(
    rt: runtime.Runtime, apis: Iterable[api_versions.Api]
) -> api_versions.ServedKinds:
    """Return the versions in which a management cluster serves some kinds.

    :raises ManagementUnreachable: no answer
    """
    return {
        (group, kind): versions
        for group in {each.group for each in apis}
        for kind, versions in rt.management.served(group).items()
    }


def _run(
    rt: runtime.Runtime,
    scope: location.Scope,
    labels: dict[str, str],
    helm: Callable[[], float],
    compared: Callable[[Sequence[view.Revision]], view.Revision],
) -> tuple[float, bool]:
    try:
        return helm(), False
    except errors.ReleaseStranded:
        revisions = helm_records.revisions(rt.management, *scope)
        if not revisions or not _migrate(
            rt, scope, labels, compared(revisions).version
        ):
            raise
    return helm(), True


def _migrate(
    rt: runtime.Runtime,
    scope: location.Scope,
    labels: dict[str, str],
    version: int,
) -> bool:
    """Write served API versions into the record of a revision.

    :returns: whether any version changed
    :raises ReleaseStranded: a kind is served in no version
    """
    release = helm_records.read(rt.management, *scope, version)
    if release is None:
        return False
    apis = manifests.apis(release.manifest)
    plan = api_versions.plan_repair(apis, served(rt, apis))
    if plan.lost:
        raise errors.ReleaseStranded(
            f"release {scope[1]} can't be changed: "
            f"{api_versions.refusal(plan.lost)}"
        )
    if not plan.moves:
        return False
    _save_original(rt, scope, labels, release)
    text = manifests.moved(release.manifest, plan.moves)
    helm_records.rewrite(rt.management, release, text, plan)
    LOG.warning(
        "Revision %d of %s in %s names API versions that are not served: "
        "changed %s in its record; what it was is in Secret %s",
        version,
        scope[1],
        scope[0],
        plan,
        names.original(scope[1], version),
    )
    return True


def _save_original(
    rt: runtime.Runtime,
    scope: location.Scope,
    labels: dict[str, str],
    release: helm_records.Release,
) -> None:
    """Save helm's own record in a Secret, as long as the cluster lives.

    An original that was saved before stays.
    """
    name = names.original(scope[1], release.version)
    if rt.management.get(kinds.SECRET, scope[0], name) is not None:
        return
    data = release.record["data"]
    rt.management.create(
        kinds.SECRET, encoding.secret(scope[0], name, labels, data)
    )
