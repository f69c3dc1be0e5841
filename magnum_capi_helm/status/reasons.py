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

"""Why something is not ready: the words of the lowest object that knows."""

from __future__ import annotations

from collections.abc import Sequence

from magnum_capi_helm.status import conditions
from magnum_capi_helm.status import plain_words
from magnum_capi_helm.status import view

#: Reasons by which a controller only says that it waits for another.
_WAITING = (
    "Waiting",
    "Pending",
    "InstanceNotReady",
    "Provisioning",
    "NodeProvisioning",
    "Deleting",
)
#: The new set has one reason for whatever is wrong below, and for waiting.
_SUMMARY = "NotReady"
_WAITING_WORDS = ("Waiting for", " is false", " to exist", "not yet")
#: The provider leaves the message of these empty.
_MUTE = {
    "InstanceStateError": "instance is in error state",
    "InstanceDeleted": "instance deleted",
}

_INFRASTRUCTURE = (
    "InstanceReady",
    "APIServerIngressReady",
    "FloatingAddressFromPoolReady",
    "NetworkReady",
    "RouterReady",
    "SecurityGroupsReady",
    "APIEndpointReady",
    "BastionReady",
    "Ready",
)
_MACHINE = ("InfrastructureReady", "BootstrapConfigReady", "BootstrapReady")
_NODE = ("NodeHealthy", "HealthCheckSucceeded", "OwnerRemediated")
#: Why a machine that is to go does not go.
_LEAVING = ("Deleting", "DrainingSucceeded")
_BLOCKED = "cannot evict pod"


def of_infrastructure(obj: view.Object | None) -> str:
    """What the provider says is wrong with a server, or the network.

    Its ``failureMessage`` stays after the fault is mended, in some versions
    for ever: what is there all the same has no fault.
    """
    status = view.status_of(obj)
    old = (status.get("deprecated") or {}).get("v1beta1") or {}
    failure = status.get("failureMessage") or old.get("failureMessage")
    if failure and not provisioned(obj):
        return plain_words.plain(str(failure))
    return _first_error(obj, _INFRASTRUCTURE)


def provisioned(obj: view.Object | None) -> bool:
    """By whichever field the provider's version has for it."""
    status = view.status_of(obj)
    ready = conditions.of(obj).get("Ready")
    if ready is not None:
        return ready.well
    initialization = status.get("initialization") or {}
    return bool(status.get("ready") or initialization.get("provisioned"))


def of_machine(machine: view.Object, infra: view.Object | None) -> str:
    """What is wrong with a machine; empty while it is merely not ready."""
    if view.deleting(machine):
        return _of_leaving(machine)
    return (
        of_infrastructure(infra)
        or _first_error(machine, _MACHINE)
        or _first_error(machine, _NODE)
    )


def _of_leaving(machine: view.Object) -> str:
    """What keeps a machine from going, where a user can do something."""
    for known in (conditions.new(machine), conditions.old(machine)):
        for name in _LEAVING:
            condition = known.get(name)
            if condition is not None and _BLOCKED in condition.message:
                return plain_words.plain(condition.message)
    return ""


def _first_error(obj: view.Object | None, names: Sequence[str]) -> str:
    """The first condition of one of these types that tells of an error."""
    sets = (conditions.new(obj), conditions.old(obj))
    for name in names:
        for known in sets:
            condition = known.get(name)
            if condition is not None and (why := _error(condition)):
                return why
    return ""


def _error(condition: conditions.Condition) -> str:
    message = condition.message or _MUTE.get(condition.reason, "")
    if not condition.bad or condition.reason.startswith(_WAITING):
        return ""
    if condition.reason == _SUMMARY and any(
        words in message for words in _WAITING_WORDS
    ):
        return ""
    return plain_words.plain(message)


def of_machines(
    what: str, machines: Sequence[view.Object], seen: view.View
) -> str:
    """The first machine with a fault, named, and how many share it."""
    faults = [
        (view.name_of(machine), why)
        for machine in machines
        if (why := of_machine(machine, seen.infra_machine(machine)))
    ]
    if not faults:
        return ""
    name, why = faults[0]
    same = sum(1 for _, other in faults if other == why) - 1
    more = f" (and {same} more machines)" if same else ""
    return f"{what}: machine {name}: {why}{more}"


def of_addon(addon: view.Object, release: str) -> str:
    """What an addon says: its name without the release, phase, message."""
    status = view.status_of(addon)
    phase = status.get("phase") or "Pending"
    name = view.name_of(addon).removeprefix(f"{release}-")
    message = plain_words.plain(str(status.get("failureMessage") or ""))
    return f"addon {name}: {phase}" + (f": {message}" if message else "")
