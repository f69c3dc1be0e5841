# SPDX-License-Identifier: Apache-2.0

"""Renewal of the control plane's certificates.

kubeadm makes them for a year and renews them only with an upgrade. Cluster
API renews them by replacing the machines that hold them
(``KubeadmControlPlane.spec.rolloutBefore``); no chart up to 0.27.0 has a
value for it, nor can another value stand in. For those charts there is
``magnum_capi_helm.lifecycle.renew``.
"""

from __future__ import annotations

from magnum_capi_helm.features import topic
from magnum_capi_helm.model import chart_versions
from magnum_capi_helm.model import cluster_spec
from magnum_capi_helm.model import labels
from magnum_capi_helm.model import option_types

#: What Cluster API's webhook accepts at least.
_FEWEST = 7
#: Of a certificate's 365: more would replace machines all the time.
_MOST = 300


class _Days(option_types.Integer):
    """0, or as many as make sense."""

    def __call__(self, value: object) -> int:
        days = int(super().__call__(value))
        if days and not _FEWEST <= days <= _MOST:
            raise ValueError(f"{days} is neither 0 nor {_FEWEST} to {_MOST}")
        return days


DAYS = labels.Label(
    name="certificates_expiry_days",
    type=_Days(),
    default=0,
    allowed=f"a number of days from {_FEWEST} to {_MOST}; 0 renews none",
    help="Replace the control plane's machines, one by one, when their "
    "certificates expire within so many days. kubeadm's are for a year. "
    "0: never; an upgrade renews them, too.",
    becomes=("controlPlane.certificatesExpiryDays",),
    charts=(chart_versions.Range(since="0.28.0"),),
)


def _values(cluster: cluster_spec.Cluster) -> topic.Values:
    days = cluster.labels[DAYS]
    applies = chart_versions.applies(DAYS.charts, cluster.chart.version)
    if not days or not applies:
        return {}
    return {"controlPlane": {"certificatesExpiryDays": days}}


TOPIC = topic.Topic(name="Certificates", labels=(DAYS,), cluster=_values)
