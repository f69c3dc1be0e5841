# SPDX-License-Identifier: Apache-2.0
"""Refuse a change that replaces machines which it is not meant to replace.

Cluster API replaces the machines of a group when the rendered template of the
group changes. Values are kept with each cluster, so a resize renders the same
templates again, unless something else is different: above all another build
of the chart under the same version. Each helm run is therefore preceded by a
comparison of what helm would render with what it deployed last.

Two kinds of change are left alone. The first is an upgrade, a rollback or a
rollout: it raises the number of upgrades in the values, and its own dry run
has shown what it replaces. The second is a nodegroup whose own settings
change.

A comparison takes helm a fraction of a second. A shortcut, such as an equal
digest of the chart, would trust that nothing but the chart decides what helm
renders. Only what a request has compared just now is not compared once more
when it is applied.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
import time
from typing import Any, TypeAlias

from oslo_log import log

from magnum_capi_helm.chart import diff
from magnum_capi_helm.chart import values
from magnum_capi_helm.helm import charts
from magnum_capi_helm.model import desired_state
from magnum_capi_helm.model import errors
from magnum_capi_helm.model import names
from magnum_capi_helm.operations import release as releases
from magnum_capi_helm.status import view

LOG = log.getLogger(__name__)

DesiredState: TypeAlias = desired_state.DesiredState

#: Settings of a node group that change no machine.
_COUNTS = frozenset(
    {"autoscale", "machineCount", "machineCountMax", "machineCountMin"}
)

#: Seconds for which the comparison that a request made is good.
_RECENT = 60.0

#: Digits of a SHA-256 that a text shows.
_DIGITS = 12


def check_request(
    release: releases.Release,
    desired: DesiredState,
    revisions: Sequence[view.Revision],
) -> None:
    """Refuse a request that replaces machines unasked.

    :raises WouldReplace: it does
    :raises HelmError: the chart does not accept the values
    """
    _check(release, desired, revisions)
    inputs = _inputs(release, desired, revisions)
    release.runtime.compared[release.scope] = (time.monotonic(), inputs)


def check_apply(
    release: releases.Release,
    desired: DesiredState,
    revisions: Sequence[view.Revision],
) -> None:
    """Refuse to apply a state that replaces machines unasked.

    Only under the Lease. Polls try again and again: each new refusal is logged
    once, and ``Runtime.withheld`` keeps it for the status.

    A chart that ``helm template`` can't render is left to ``helm upgrade``:
    the former assumes the version and the kinds of helm's own Kubernetes, the
    latter asks the management cluster.

    :raises WouldReplace: it does
    """
    rt, scope = release.runtime, release.scope
    since, inputs = rt.compared.pop(scope, (0.0, None))
    recent = time.monotonic() - since < _RECENT
    if not recent or inputs != _inputs(release, desired, revisions):
        try:
            _check(release, desired, revisions)
        except errors.WouldReplace as error:
            if rt.withheld.get(scope) != str(error):
                LOG.warning("Release %s is left as it is: %s", scope[1], error)
            rt.withheld[scope] = str(error)
            raise
        except errors.ManifestUnreadable:
            # helm upgrade might accept it, and replace machines.
            raise
        except errors.HelmError as error:
            if error.retriable:
                raise
            LOG.warning(
                "The templates of release %s are not compared: %s",
                scope[1],
                error,
            )
    rt.withheld.pop(scope, None)


def _check(
    release: releases.Release,
    desired: DesiredState,
    revisions: Iterable[view.Revision],
) -> None:
    if groups := replaced_groups(release, desired, revisions):
        raise errors.WouldReplace(_refusal(release, desired, groups))


def replaced_groups(
    release: releases.Release,
    desired: DesiredState,
    revisions: Iterable[view.Revision],
) -> list[str]:
    """Return the groups whose machines helm would replace unasked.

    :returns: the chart's names of the groups, and ``control-plane``; nothing
        if no revision is deployed, or an upgrade is still to be applied
    :raises HelmError: the chart does not accept the values
    """
    before = releases.deployed(release.runtime, release.scope, revisions)
    if before is None or (
        values.upgrades(before.values) != values.upgrades(desired.values)
    ):
        return []
    old, new = _settings(before.values), _settings(desired.values)
    asked = {
        names.machine_deployment(release.release, name)
        for name, settings in old.items()
        if settings != new.get(name)
    }
    after = release.render(desired)
    return [
        each.removeprefix(f"{release.release}-")
        for each in diff.remade(before.objects, after)
        if each not in asked
    ]


def _inputs(
    release: releases.Release,
    desired: DesiredState,
    revisions: Iterable[view.Revision],
) -> tuple[object, ...]:
    """Return everything that the result of a comparison depends on."""
    versions = [
        each.version for each in revisions if each.status == "deployed"
    ]
    digest = release.runtime.charts.digest(desired.chart)
    return versions, digest, desired.fingerprint, desired.values


def _settings(chart_values: Mapping[str, Any]) -> dict[str, Any]:
    """Return the settings of each node group, without counts."""
    return {
        str(each["name"]): values.without_nulls(
            {key: each[key] for key in each.keys() - _COUNTS}
        )
        for each in chart_values.get("nodeGroups") or []
    }


def _refusal(
    release: releases.Release, desired: DesiredState, groups: Sequence[str]
) -> str:
    version = desired.chart.version
    chart = f"{charts.name_of(desired.chart)} {version}"
    return (
        "the change would replace machines that it is not meant to replace "
        f"({', '.join(groups)}), so nothing is changed. Chart {chart} now "
        "renders their templates differently from when it was last applied"
        f"{_explanation(release, desired, chart)}. The operator can put the "
        "former build back into the chart store, or replace the machines: "
        f"`magnum-capi-helm cluster apply --chart-version {version} "
        "--allow-replacement` names them, and replaces them with --apply; an "
        "upgrade of the cluster replaces them, too"
    )


def _explanation(
    release: releases.Release, desired: DesiredState, chart: str
) -> str:
    """Return what the digest of the chart explains; empty: nothing."""
    stored = release.runtime.charts.digest(desired.chart)
    if not stored or not desired.digest or stored == desired.digest:
        return ""
    return (
        f": the chart store has another build of {chart} (sha256 "
        f"{stored[:_DIGITS]}) than the one that the cluster was made from "
        f"(sha256 {desired.digest[:_DIGITS]})"
    )
