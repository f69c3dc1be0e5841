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
from magnum_capi_helm.status import view

#: Reasons by which a controller only says that it waits for another.
_WAITING = (
    "Waiting",
    "Pending",
    "NotReady",
    "Provisioning",
    "NodeProvisioning",
    "Deleting",
)

_INFRASTRUCTURE = (
    "InstanceReady",
    "APIServerIngressReady",
    "FloatingAddressFromPoolReady",
    "Ready",
)
_MACHINE = ("InfrastructureReady", "BootstrapConfigReady", "BootstrapReady")
_NODE = ("NodeHealthy", "HealthCheckSucceeded", "OwnerRemediated")


def one_line(text: str) -> str:
    """``text`` without line breaks: reasons are sentences, not reports."""
    return " ".join(text.split())


def of_infrastructure(obj: view.Object | None) -> str:
    """What the provider says is wrong with a server, or the network."""
    status = view.status_of(obj)
    if message := status.get("failureMessage"):
        return one_line(str(message))
    return _first_error(conditions.of(obj), _INFRASTRUCTURE)


def of_machine(machine: view.Object, infra: view.Object | None) -> str:
    """What is wrong with a machine; empty while it is merely not ready."""
    if why := of_infrastructure(infra):
        return why
    known = {**conditions.old(machine), **conditions.new(machine)}
    if why := _first_error(known, _MACHINE):
        return why
    return _first_error(known, _NODE)


def _first_error(
    known: dict[str, conditions.Condition], names: Sequence[str]
) -> str:
    for name in names:
        condition = known.get(name)
        if (
            condition is not None
            and condition.bad
            and condition.message
            and not condition.reason.startswith(_WAITING)
        ):
            return one_line(condition.message)
    return ""


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
    message = one_line(str(status.get("failureMessage") or ""))
    return f"addon {name}: {phase}" + (f": {message}" if message else "")
