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
from typing import Any

from oslo_log import log

from magnum_capi_helm import runtime
from magnum_capi_helm.chart import diff
from magnum_capi_helm.chart import values
from magnum_capi_helm.helm import charts
from magnum_capi_helm.management import snapshot
from magnum_capi_helm.model import desired_state
from magnum_capi_helm.model import errors
from magnum_capi_helm.model import names
from magnum_capi_helm.operations import manifest
from magnum_capi_helm.status import view

LOG = log.getLogger(__name__)

#: Settings of a node group that change no machine.
_COUNTS = frozenset(
    {"autoscale", "machineCount", "machineCountMax", "machineCountMin"}
)

#: Seconds for which the comparison that a request made is good.
_RECENT = 60.0

#: Digits of a SHA-256 that a text shows.
_DIGITS = 12


def find(
    rt: runtime.Runtime,
    scope: snapshot.Scope,
    wanted: desired_state.Intent,
    revisions: Iterable[view.Revision],
) -> tuple[str, ...]:
    """Return the groups whose machines helm would replace unasked.

    :param wanted: what is to be applied
    :param revisions: of the release, the newest last
    :returns: the chart's names of the groups, and ``control-plane``; nothing
        where no revision is deployed, or an upgrade is still to be applied
    :raises HelmError: the chart does not accept the values
    """
    found = manifest.deployed(rt, scope, revisions)
    if found is None:
        return ()
    if values.upgrades(found.values) != values.upgrades(wanted.values):
        return ()
    changed = _changed_groups(found.values, wanted.values)
    asked = {names.machine_deployment(scope[1], each) for each in changed}
    after = manifest.rendered(rt, scope, wanted)
    return tuple(
        each.removeprefix(f"{scope[1]}-")
        for each in diff.remade(found.objects, after)
        if each not in asked
    )


def check_request(
    rt: runtime.Runtime,
    scope: snapshot.Scope,
    wanted: desired_state.Intent,
    revisions: Sequence[view.Revision],
) -> None:
    """Refuse a request that replaces machines unasked.

    :raises WouldReplace: it does
    :raises HelmError: the chart does not accept the values
    """
    _check(rt, scope, wanted, revisions)
    inputs = _inputs(rt, wanted, revisions)
    rt.compared[scope] = (time.monotonic(), inputs)


def check_apply(
    rt: runtime.Runtime,
    scope: snapshot.Scope,
    wanted: desired_state.Intent,
    revisions: Sequence[view.Revision],
) -> None:
    """Refuse to apply what replaces machines unasked; only under the Lease.

    Polls try again and again: each new refusal is logged once. The status of
    an operation in progress shows what is kept in ``Runtime.withheld``.

    A chart that ``helm template`` cannot render is left to ``helm upgrade``:
    the former assumes the version and the kinds of helm's own Kubernetes, the
    latter asks the management cluster.

    :raises WouldReplace: it does
    """
    since, inputs = rt.compared.pop(scope, (0.0, None))
    recent = time.monotonic() - since < _RECENT
    if not recent or inputs != _inputs(rt, wanted, revisions):
        try:
            _check(rt, scope, wanted, revisions)
        except errors.WouldReplace as error:
            if rt.withheld.get(scope) != str(error):
                LOG.warning("Release %s is left as it is: %s", scope[1], error)
            rt.withheld[scope] = str(error)
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
    rt: runtime.Runtime,
    scope: snapshot.Scope,
    wanted: desired_state.Intent,
    revisions: Iterable[view.Revision],
) -> None:
    groups = find(rt, scope, wanted, revisions)
    if groups:
        raise errors.WouldReplace(_text(rt, wanted, groups))


def _inputs(
    rt: runtime.Runtime,
    wanted: desired_state.Intent,
    revisions: Iterable[view.Revision],
) -> tuple[object, ...]:
    """Return all that the result of a comparison depends on."""
    deployed = [
        each.version for each in revisions if each.status == "deployed"
    ]
    digest = rt.charts.digest(wanted.chart)
    return deployed, digest, wanted.fingerprint, wanted.values


def _changed_groups(
    before: Mapping[str, Any], after: Mapping[str, Any]
) -> frozenset[str]:
    """Return the node groups that go, or whose settings change."""
    old, new = _settings(before), _settings(after)
    return frozenset(
        name for name, settings in old.items() if settings != new.get(name)
    )


def _settings(given: Mapping[str, Any]) -> dict[str, Any]:
    """Return what each node group is made from, without counts."""
    return {
        str(each["name"]): values.without_nulls(
            {key: each[key] for key in each.keys() - _COUNTS}
        )
        for each in given.get("nodeGroups") or []
    }


def _text(
    rt: runtime.Runtime, wanted: desired_state.Intent, groups: tuple[str, ...]
) -> str:
    version = wanted.chart.version
    chart = f"{charts.name_of(wanted.chart)} {version}"
    return (
        "the change would replace machines that it is not meant to replace "
        f"({', '.join(groups)}), so nothing is changed. Chart {chart} now "
        "renders their templates differently from when it was last applied"
        f"{_explanation(rt, wanted, chart)}. The operator can put the former "
        "build back into the chart store, or replace the machines: "
        f"`magnum-capi-helm rollout --chart-version {version} "
        "--allow-replacement` names them, and replaces them with --apply; an "
        "upgrade of the cluster replaces them, too"
    )


def _explanation(
    rt: runtime.Runtime, wanted: desired_state.Intent, chart: str
) -> str:
    """Return what the digest of the chart explains; empty: nothing."""
    here = rt.charts.digest(wanted.chart)
    if not here or not wanted.digest or here == wanted.digest:
        return ""
    return (
        f": the chart store has another build of {chart} (sha256 "
        f"{here[:_DIGITS]}) than the one that the cluster was made from "
        f"(sha256 {wanted.digest[:_DIGITS]})"
    )
