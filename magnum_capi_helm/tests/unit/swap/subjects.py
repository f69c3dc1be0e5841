# SPDX-License-Identifier: Apache-2.0

"""A cluster that is well, before 1.4.0 is swapped and before it is back."""

from __future__ import annotations

import dataclasses
from typing import Any

from magnum_capi_helm.model import cluster_spec
from magnum_capi_helm.swap import case
from magnum_capi_helm.swap import evidence

DAY = 86400.0
NOW = 1000 * DAY

MASTER = evidence.Group(
    "default-master", "default-master", control_plane=True, flavor="m1.cp"
)
WORKER = evidence.Group(
    "default-worker", "default-worker", count=2, flavor="m1.w", minimum=1
)
GPU = evidence.Group("gpu", "gpu", default=False, flavor="m1.gpu", minimum=1)
TEMPLATE = evidence.Template(
    "prod", image="ubuntu-1.34", network_driver="calico"
)
IMAGE = cluster_spec.Image("i-1", "ubuntu-1.34", "1.34.2", "ubuntu")

#: What 1.4.0 sent, and what it would send again.
VALUES: dict[str, Any] = {
    "kubernetesVersion": "1.34.2",
    "machineImageId": "i-1",
    "machineSSHKeyName": "mine",
    "osDistro": "ubuntu",
    "cloudCredentialsSecretName": "web-x-cloud-credentials",
    "etcd": {},
    "apiServer": {
        "associateFloatingIP": True,
        "enableLoadBalancer": True,
        "loadBalancerProvider": "amphora",
    },
    "clusterNetworking": {
        "dnsNameservers": None,
        "externalNetworkId": "net-1",
        "internalNetwork": {"nodeCidr": "10.0.0.0/24"},
    },
    "controlPlane": {
        "machineFlavor": "m1.cp",
        "machineCount": 1,
        "healthCheck": {"enabled": True},
    },
    "nodeGroupDefaults": {"healthCheck": {"enabled": True}},
    "nodeGroups": [
        {"name": "default-worker", "machineFlavor": "m1.w", "machineCount": 2}
    ],
    "addons": {
        "cni": {"type": "calico"},
        "openstack": {
            "csiCinder": {"defaultStorageClass": {"name": "slow"}},
            "cloudConfig": {
                "LoadBalancer": {
                    "lb-provider": "amphora",
                    "lb-method": "ROUND_ROBIN",
                    "create-monitor": True,
                }
            },
        },
        "monitoring": {"enabled": False},
        "kubernetesDashboard": {"enabled": True},
        "ingress": {"enabled": False},
    },
}
LIVE = evidence.Live(
    chart="0.16.0",
    values=VALUES,
    versions=frozenset({"apps/v1", "cluster.x-k8s.io/v1beta1"}),
    credential=evidence.Credential(NOW - 30 * DAY, "2026-01-01", True),
    certificates=(
        evidence.Certificate("ca CA", NOW + 900 * DAY, "2030-01-01"),
        evidence.Certificate("kubeconfig", NOW + 200 * DAY, "2027-01-01"),
    ),
)
SUBJECT = evidence.Subject(
    name="web",
    uuid="u-1",
    project="p1",
    status="CREATE_COMPLETE",
    template=TEMPLATE,
    release="web-x",
    user="anna",
    keypair="mine",
    groups=(MASTER, WORKER),
    live=LIVE,
)
AROUND = evidence.Surroundings(
    now=NOW,
    charts={"0.16.0": ""},
    images={"ubuntu-1.34": IMAGE, "i-1": IMAGE},
    flavors=frozenset({"m1.cp", "m1.w", "m1.gpu"}),
    keypairs={("anna", "mine"): True},
)
#: The operator has the chart of that cluster in the option.
OPTIONS = evidence.Options(chart="0.16.0")


def subject(
    live: dict[str, Any] | None = None,
    template: dict[str, Any] | None = None,
    values: dict[str, Any] | None = None,
    **fields: Any,
) -> evidence.Subject:
    """The cluster, with something else.

    :param values: what is merged over the release's
    """
    changed = dict(live or {})
    if values:
        changed["values"] = merged(VALUES, values)
    return dataclasses.replace(
        SUBJECT,
        **{
            "live": dataclasses.replace(LIVE, **changed),
            "template": dataclasses.replace(TEMPLATE, **(template or {})),
            **fields,
        },
    )


def around(**fields: Any) -> evidence.Surroundings:
    """All around it, with something else."""
    return dataclasses.replace(AROUND, **fields)


def going_back(
    options: evidence.Options = OPTIONS,
    image: cluster_spec.Image | None = IMAGE,
    known: bool = True,
    chart: str = "0.16.0",
    **changed: Any,
) -> case.Case:
    """The cluster before it goes back, with something else."""
    found = subject(**changed)
    assert found.live is not None
    return case.Case(found, found.live, options, image, known, chart)


def merged(below: dict[str, Any], above: dict[str, Any]) -> dict[str, Any]:
    """Dictionaries merge; anything else replaces."""
    found = dict(below)
    for key, value in above.items():
        there = found.get(key)
        if isinstance(value, dict) and isinstance(there, dict):
            found[key] = merged(there, value)
        else:
            found[key] = value
    return found
