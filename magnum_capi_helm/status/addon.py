# SPDX-License-Identifier: Apache-2.0

"""The addons of a cluster: objects of the addon provider."""

from __future__ import annotations

from magnum_capi_helm.status import messages
from magnum_capi_helm.status import tree
from magnum_capi_helm.status import view

#: Seconds that an addon provider needs to notice a change.
_TO_NOTICE = 5.0


def branch(
    objects: view.View, expected: frozenset[str], clock: view.Clock
) -> tree.Branch:
    """Return the branch of all addons.

    :param expected: names of the addon objects in the manifest
    """
    if not objects.addons_known:
        text = "cluster: the control plane is not initialized yet"
        reason = tree.Reason(text, tree.Rank.LAST)
        return tree.Branch("addons", state=tree.State.UNKNOWN, reason=reason)
    addons = [_branch(objects, each, clock) for each in objects.addons]
    for name in expected - set(map(view.name_of, objects.addons)):
        reason = tree.Reason("not created", tree.Rank.LAST)
        addons.append(_grow(objects, "addon", name, reason))
    deployed = sum(each.state is tree.State.READY for each in addons)
    return tree.Branch(
        "addons",
        state=tree.worst_state(addons),
        note=f"{deployed} of {len(addons)} deployed",
        children=tuple(sorted(addons, key=_order)),
    )


def _order(addon: tree.Branch) -> tuple[bool, bool, str]:
    """Sort missing addons first, then failed ones: they explain more."""
    failed = addon.reason.text.startswith("Failed")
    return addon.kind != "addon", not failed, addon.name


def _branch(
    objects: view.View, addon: view.Object, clock: view.Clock
) -> tree.Branch:
    text = _reason(addon, objects.newest, clock)
    reason = tree.Reason(text, tree.Rank.LAST) if text else tree.NONE
    return _grow(objects, addon["kind"], view.name_of(addon), reason)


def _grow(
    objects: view.View, kind: str, name: str, reason: tree.Reason
) -> tree.Branch:
    title = f"addon {objects.short_name(name)}"
    return tree.grow(kind, name, reason, title=title)


def _reason(
    addon: view.Object, newest: view.Revision | None, clock: view.Clock
) -> str:
    """Return why an addon is not deployed as it should be, or nothing.

    Addons have no ``observedGeneration``. The addon provider keeps the spec
    that it has handled, because it is made with kopf. Without that note,
    ``Deployed`` counts after a moment in which it could notice a change.

    :param newest: revision of the helm release
    """
    status = view.status_of(addon)
    phase = str(status.get("phase") or "Pending")
    if phase != "Deployed":
        message = messages.plain(str(status.get("failureMessage") or ""))
        return f"{phase}: {message}" if message else phase
    handled = view.handled_of(addon)
    if handled is not None:
        late = view.spec_of(handled) != view.spec_of(addon)
    else:
        # The host that ran helm may have a clock that is ahead.
        late = (
            newest is not None
            and newest.modified <= clock.now
            and not clock.has_passed(newest.modified + _TO_NOTICE)
        )
    return "its latest change is still to be installed" if late else ""
