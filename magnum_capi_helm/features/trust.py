# SPDX-License-Identifier: Apache-2.0

"""Certificate authorities that the machines trust."""

from __future__ import annotations

from magnum_capi_helm.features import topic
from magnum_capi_helm.model import cluster_spec


def _flatcar(cluster: cluster_spec.Cluster) -> bool:
    return cluster.control_plane.image.os_distro == "flatcar"


def _values(cluster: cluster_spec.Cluster) -> topic.Values:
    """The chart's way, for Debian's folder, that flatcar can't write to."""
    if not cluster.site.trusted_cas or _flatcar(cluster):
        return {}
    return {"trustedCAs": dict(cluster.site.trusted_cas)}


def _setup(cluster: cluster_spec.Cluster, _: topic.Nodes) -> topic.Setup:
    """Flatcar's way: one certificate in each file (Flatcar's guide)."""
    if not cluster.site.trusted_cas or not _flatcar(cluster):
        return topic.Setup()
    return topic.Setup(
        files=tuple(
            {
                "path": f"/etc/ssl/certs/{name}.pem",
                "owner": "root:root",
                "permissions": "0644",
                "content": pem,
            }
            for name, pem in cluster.site.trusted_cas
        ),
        before=("update-ca-certificates",),
    )


TOPIC = topic.Topic(name="Trusted CAs", cluster=_values, setup=_setup)
