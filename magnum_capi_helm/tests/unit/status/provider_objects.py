# SPDX-License-Identifier: Apache-2.0

"""Objects of the infrastructure's and of the addons' provider."""

from __future__ import annotations

from typing import Any

from magnum_capi_helm.status import view
from magnum_capi_helm.tests.unit.status import shapes

NO_HOST = "No valid host was found. There are not enough hosts available."
#: What a tenant reads of it.
NO_ROOM = (
    "No valid host was found: the cloud has no room for a server of this "
    "flavor there; choose another flavor or availability zone, or ask the "
    "operator; auto-healing then replaces the machine, or resize with "
    "--nodes-to-remove"
)


def server(
    name: str,
    conditions: shapes.Conditions | None = None,
    failure: str | None = None,
) -> view.Object:
    """The OpenStackMachine behind the Machine ``name``."""
    status: dict[str, Any] = {
        "conditions": shapes.conditions(conditions or {})
    }
    if failure:
        status["failureMessage"] = failure
    return {
        "apiVersion": "infrastructure.cluster.x-k8s.io/v1beta1",
        "metadata": {"name": f"server-{name}", "generation": 2},
        "status": status,
    }


def openstack_server(
    name: str,
    state: str = "ERROR",
    condition: tuple[str, str, str] = ("False", "InstanceStateError", ""),
    instance: str = "i-1",
    since: str = "",
) -> view.Object:
    """The OpenStackServer behind the Machine ``name``, as CAPO 0.14 has it.

    :param since: when its condition last changed
    """
    found = shapes.conditions({"InstanceReady": condition})
    if since:
        found[0]["lastTransitionTime"] = since
    return {
        "apiVersion": "infrastructure.cluster.x-k8s.io/v1alpha1",
        "kind": "OpenStackServer",
        "metadata": {"name": f"server-{name}"},
        "status": {
            "ready": state == "ACTIVE",
            "instanceID": instance,
            "instanceState": state,
            "conditions": found,
        },
    }


def network(
    conditions: shapes.Conditions | None = None, failure: str | None = None
) -> view.Object:
    """The OpenStackCluster."""
    return {
        **server("", conditions, failure),
        "metadata": {"name": shapes.RELEASE},
    }


def addon(
    component: str, phase: str | None = "Deployed", failure: str = ""
) -> view.Object:
    """A HelmRelease or Manifests object; phase None: no status yet."""
    status = {} if phase is None else {"phase": phase}
    if failure:
        status["failureMessage"] = failure
    return {
        "apiVersion": "addons.stackhpc.com/v1alpha1",
        "kind": "HelmRelease",
        "metadata": {"name": f"{shapes.RELEASE}-{component}", "generation": 1},
        "status": status,
    }
