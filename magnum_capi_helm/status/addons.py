# SPDX-License-Identifier: Apache-2.0

"""Whether what is installed into a cluster is what the manifest wants."""

from __future__ import annotations

import json

from magnum_capi_helm.status import reasons
from magnum_capi_helm.status import view

_DEPLOYED = "Deployed"
#: Annotation of the addon provider: what of an addon it has worked through.
_HANDLED = "addons.stackhpc.com/last-handled-configuration"
#: Seconds in which an addon provider that leaves none notices a change.
_NOTICED = 5.0


def undeployed(seen: view.View, expected: frozenset[str]) -> str:
    """Why they are not all deployed; empty: they are.

    :param expected: names of the addon objects that the manifest has
    """
    if not seen.addons_known:
        return "cluster: not every machine has its node yet"
    live = {view.name_of(each) for each in seen.addons}
    for name in sorted(expected - live):
        return f"addon {name.removeprefix(f'{seen.release}-')}: not created"
    waiting = [each for each in seen.addons if not deployed(each)]
    # A failed addon explains more than one that is still being installed.
    waiting.sort(
        key=lambda each: (
            view.status_of(each).get("phase") != "Failed",
            view.name_of(each),
        )
    )
    return reasons.of_addon(waiting[0], seen.release) if waiting else ""


def deployed(addon: view.Object) -> bool:
    """Whether the provider calls it deployed, as it last noticed it."""
    return bool(view.status_of(addon).get("phase") == _DEPLOYED)


def behind(seen: view.View, now: float) -> str:
    """Why an addon that is deployed may not be what it is to be."""
    for addon in seen.addons:
        if why := unnoticed(addon, seen.newest, now):
            name = view.name_of(addon).removeprefix(f"{seen.release}-")
            return f"addon {name}: {why}"
    return ""


def unnoticed(
    addon: view.Object, newest: view.Revision | None, now: float
) -> str:
    """What the provider may not have noticed yet; empty: nothing.

    Addons have no ``observedGeneration``. The addon provider keeps the spec
    that it has handled, since it is made with kopf; of one that doesn't,
    ``Deployed`` counts when it had a moment to notice a change.

    :param newest: revision of the helm release
    :param now: seconds since 1970
    """
    handled = view.annotations_of(addon).get(_HANDLED)
    if handled is None:
        late = newest and 0 <= now - newest.modified < _NOTICED
    else:
        late = _spec_in(handled) != view.spec_of(addon)
    return "its latest change is still to be installed" if late else ""


def _spec_in(handled: str) -> object:
    try:
        return json.loads(handled).get("spec") or {}
    except (AttributeError, ValueError):
        return None
