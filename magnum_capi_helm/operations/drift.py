# SPDX-License-Identifier: Apache-2.0

"""Live objects that differ from the manifest of the release."""

from __future__ import annotations

from collections.abc import Collection

from magnum_capi_helm.model import requested_groups
from magnum_capi_helm.status import view

#: helm writes these on every object, and they are in no manifest (helm's
#: ``pkg/action/validate.go``).
RELEASE_NAME = "meta.helm.sh/release-name"
RELEASE_NAMESPACE = "meta.helm.sh/release-namespace"
_KEEP = "helm.sh/resource-policy"


def miscounted(objects: view.View, rows_now: requested_groups.Rows) -> bool:
    """Return whether another client changed a count that the rows decide.

    :param rows_now: with the names of the groups in ``objects``
    """
    workers = [
        (objects.deployment(each.chart_name), each.count)
        for each in rows_now.workers
        if each.chart_name not in objects.autoscaled()
    ]
    master = rows_now.master
    control_plane = [(objects.control_plane, master.count)] if master else []
    return any(
        live is not None and view.spec_of(live).get("replicas") != count
        for live, count in workers + control_plane
    )


def addons_differ(
    objects: view.View, scope: tuple[str, str], expected: Collection[str]
) -> bool:
    """Return whether the addons of helm are not those of the manifest.

    helm changes an addon that is being deleted, and then it is missing.

    :param expected: names of the manifest's addons; empty: they are not known
    """
    if not expected or not objects.addons_known:
        return False
    names = set(map(view.name_of, objects.addons))
    return not names.issuperset(expected) or any(
        view.name_of(each) not in expected and of_helm(each, scope)
        for each in objects.addons
    )


def of_helm(live: view.Object, scope: tuple[str, str]) -> bool:
    """Return whether helm made an object for this release, to be removed."""
    notes = view.annotations_of(live)
    owner = (notes.get(RELEASE_NAMESPACE), notes.get(RELEASE_NAME))
    return owner == scope and _KEEP not in notes and not view.deleting(live)
