# SPDX-License-Identifier: Apache-2.0

"""Whether the management cluster would take an upgrade: asked, not done."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, TypeAlias

from magnum_capi_helm import runtime
from magnum_capi_helm.chart import diff
from magnum_capi_helm.helm import releases
from magnum_capi_helm.management import answers
from magnum_capi_helm.management import kinds
from magnum_capi_helm.management import snapshot
from magnum_capi_helm.model import desired_state
from magnum_capi_helm.model import errors
from magnum_capi_helm.operations import manifest

Object: TypeAlias = manifest.Object


def check(
    rt: runtime.Runtime, scope: snapshot.Scope, wanted: desired_state.Intent
) -> None:
    """Let every webhook see what is new or changed.

    :raises NotSupported: one refuses, in its own words
    :raises CapiHelmError: nobody could be asked, or the driver may not ask
    """
    before = installed(rt, scope)
    found = changed(before, manifest.rendered(rt, scope, wanted))
    dry_run(rt, scope, found, "the template")


def dry_run(
    rt: runtime.Runtime,
    scope: snapshot.Scope,
    objects: Iterable[Object],
    what: str,
) -> None:
    """Let every webhook see some objects.

    :param what: what they come from, for the message
    :raises NotSupported: one refuses, in its own words
    :raises CapiHelmError: nobody could be asked, or the driver may not ask
    """
    for obj in objects:
        kind = kinds.rendered(obj)
        if kind is not None:
            _try(rt, kind, obj, scope[0], what)


def _try(
    rt: runtime.Runtime,
    kind: kinds.Kind,
    obj: Object,
    namespace: str,
    what: str,
) -> None:
    meta = {**obj["metadata"], "namespace": namespace}
    try:
        rt.management.apply(kind, {**obj, "metadata": meta}, dry_run=True)
    except errors.ManagementError as error:
        if error.retriable or answers.is_about_the_user(error):
            raise
        raise errors.NotSupported(
            f"{what} does not fit this cluster: {error}"
        ) from error


def changed(
    before: Iterable[Mapping[str, Any]], after: Iterable[Object]
) -> list[Object]:
    """Objects that are not the same in two manifests, or new."""
    after = list(after)
    touched = {
        (each.kind, each.name)
        for each in diff.changes(before, after)
        if each.what != "removed"
    }
    return [
        each
        for each in after
        if (each["kind"], each["metadata"]["name"]) in touched
    ]


def installed(
    rt: runtime.Runtime, scope: snapshot.Scope
) -> tuple[Object, ...]:
    """The objects of the newest revision that helm deployed.

    :raises NotSupported: there is none
    """
    revisions = releases.revisions(rt.management, *scope)
    found = manifest.deployed(rt, scope, revisions)
    if found is None:
        raise errors.NotSupported(
            f"release {scope[1]} was never deployed: there is nothing to "
            "compare with"
        )
    return found.objects
