# SPDX-License-Identifier: Apache-2.0

"""The addons of a cluster: objects of the addon provider.

The addon provider is made with kopf, which writes annotations on each addon:
the configuration that was handled last, and the progress of a handler that
fails and tries again. Most faults of helm stand there alone: the phase stays
``Installing``, without a message (``handle_addon_updated`` in
``capi_addons/operator.py``).
"""

from __future__ import annotations

import base64
from collections.abc import Mapping
import dataclasses
import hashlib

from magnum_capi_helm.status import conditions
from magnum_capi_helm.status import messages
from magnum_capi_helm.status import tree
from magnum_capi_helm.status import view

#: Seconds that an addon provider needs to notice a change.
_TO_NOTICE = 5.0
#: Addons without which no node is ready: the pods' network, and the cloud
#: controller manager with its Secret. ``spec.bootstrap`` says no more than
#: that an addon does not wait for the cluster: the chart sets it for all.
_FOR_NODES = ("cni-calico", "cni-cilium", "ccm-openstack", "cloud-config")
#: Seconds that an addon for which nodes wait may need.
_TO_INSTALL = 300.0
_PREFIX = "addons.stackhpc.com/"
#: Annotation with a checksum of a Secret with values, by the Secret's name.
_SECRET = f"secret.{_PREFIX}"
#: The addon provider waits for the cluster.
_NOT_READY = "is not ready"


def branch(
    objects: view.View, expected: frozenset[str], secrets: Mapping[str, str]
) -> tree.Branch:
    """Return the branch of all addons.

    :param expected: names of the addon objects in the manifest
    :param secrets: checksum of each Secret in the manifest
    """
    if not objects.addons_known:
        text = "cluster: the control plane is not initialized yet"
        reason = tree.Reason(text, tree.Rank.LAST)
        return tree.Branch("addons", state=tree.State.UNKNOWN, reason=reason)
    missing = expected - set(map(view.name_of, objects.addons))
    reason = tree.Reason("not created", tree.Rank.LAST)
    addons = [_grow(objects, "addon", each, reason) for each in missing]
    for each in objects.addons:
        name, reason = view.name_of(each), _reason(objects, each, secrets)
        grown = _grow(objects, each["kind"], name, reason)
        addons.append(_with_entry(grown, each))
    deployed = sum(each.state is tree.State.READY for each in addons)
    return tree.Branch(
        "addons",
        state=tree.worst_state(addons),
        note=f"{deployed} of {len(addons)} deployed",
        children=tuple(sorted(addons, key=_order)),
    )


def _order(addon: tree.Branch) -> tuple[bool, bool, str]:
    """Sort missing addons first, then failed ones: they explain more."""
    return addon.kind != "addon", not addon.entries, addon.name


def _grow(
    objects: view.View, kind: str, name: str, reason: tree.Reason
) -> tree.Branch:
    title = f"addon {objects.short_name(name)}"
    return tree.grow(kind, name, reason, title=title)


def _with_entry(branch: tree.Branch, addon: view.Object) -> tree.Branch:
    """Let the health show an addon that failed."""
    if view.status_of(addon).get("phase") != "Failed":
        return branch
    is_needed = branch.reason.rank is tree.Rank.ADDON
    health = tree.UNHEALTHY if is_needed else tree.HEALTHY
    key = branch.title.replace(" ", ".")
    entry = tree.Entry(key, branch.reason.text, health)
    return dataclasses.replace(branch, entries=(entry,))


def _reason(
    objects: view.View, addon: view.Object, secrets: Mapping[str, str]
) -> tree.Reason:
    """Return why an addon is not deployed.

    Nodes wait for an addon that is installed before they are ready.
    """
    status = view.status_of(addon)
    phase = str(status.get("phase") or "Pending")
    rank = tree.Rank.LAST
    if conditions.paused(addon):
        text = "the operator has paused it: nothing is changed"
    elif phase == "Deployed":
        is_late = _is_late(objects, addon, secrets)
        text = "its latest change is still to be installed" if is_late else ""
    else:
        text = messages.plain(str(status.get("failureMessage") or ""))
        text = f"{phase}: {text}" if text else f"{phase}{_tries(addon)}"
        is_fault = phase == "Failed" or _takes_long(objects, addon)
        name = objects.short_name(view.name_of(addon))
        if name in _FOR_NODES and is_fault:
            text, rank = f"{text} (nodes wait for it)", tree.Rank.ADDON
    return tree.Reason(text, rank)


def _takes_long(objects: view.View, addon: view.Object) -> bool:
    """Return whether an addon should be installed by now.

    Its provider begins when the control plane is initialized.
    """
    cluster = conditions.merged(objects.cluster)
    started = cluster["ControlPlaneInitialized"]
    began = max(view.created_at(addon), _changed_at(objects), started.since)
    is_late = began and objects.clock.has_passed(began + _TO_INSTALL)
    return bool(started.well and is_late)


def _tries(addon: view.Object) -> str:
    """Return kopf's note on a handler that fails and tries again.

    The name of the annotation has the handler and a field; the value is JSON
    (``ProgressRecord`` in ``kopf/_cogs/configs/progress.py``).
    """
    for name, value in view.annotations_of(addon).items():
        note = view.parsed(value) if name.startswith(_PREFIX) else {}
        message = str(note.get("message") or "")
        if message and _NOT_READY not in message:
            return f", {note.get('retries')} tries: {messages.plain(message)}"
    return ""


def _is_late(
    objects: view.View, addon: view.Object, secrets: Mapping[str, str]
) -> bool:
    """Return whether a deployed addon has not got its latest values yet.

    Addons have no ``observedGeneration``. Without the note of kopf,
    ``Deployed`` counts after a moment in which the addon provider could notice
    a change. When a Secret with values changes, the provider first writes its
    checksum into an annotation of the addon (``handle_config_event``).
    """
    handled, clock = view.handled_of(addon), objects.clock
    if handled is None:
        # The host that ran helm may have a clock that is ahead.
        changed = _changed_at(objects)
        until = changed + _TO_NOTICE
        return changed <= clock.now and not clock.has_passed(until)
    live = _checksums(addon)
    return (
        view.spec_of(handled) != view.spec_of(addon)
        or _checksums(handled) != live
        or any(secrets.get(name, live[name]) != live[name] for name in live)
    )


def _changed_at(objects: view.View) -> float:
    """Return when helm made the newest revision; 0: there is none."""
    return objects.newest.modified if objects.newest else 0.0


def checksum(secret: view.Object) -> str:
    """Return the checksum of a Secret as the addon provider writes it.

    :param secret: live, or as a manifest has it
    """
    data = dict(secret.get("data") or {})
    for name, text in (secret.get("stringData") or {}).items():
        data[name] = base64.b64encode(text.encode()).decode()
    pairs = sorted(f"{name}={value}" for name, value in data.items())
    return hashlib.sha256(";".join(pairs).encode()).hexdigest()


def _checksums(addon: view.Object) -> dict[str, str]:
    """Return the checksums in an addon's annotations, by Secret."""
    return {
        name.removeprefix(_SECRET): value
        for name, value in view.annotations_of(addon).items()
        if name.startswith(_SECRET)
    }
