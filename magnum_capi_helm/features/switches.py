# SPDX-License-Identifier: Apache-2.0

"""Labels that switch an addon of the chart on or off."""

from __future__ import annotations

from collections.abc import Iterable

from magnum_capi_helm.features import topic
from magnum_capi_helm.model import chart_versions
from magnum_capi_helm.model import cluster_spec
from magnum_capi_helm.model import labels


def values(
    cluster: cluster_spec.Cluster,
    switches: Iterable[labels.Label[bool]],
    *,
    below: str = "addons",
    always: bool = False,
) -> topic.Values:
    """Addon -> ``{"enabled": ...}``, for the node ``below`` of the values.

    The default of a switch is the chart's. It is sent when somebody gives
    it or when it differs, so that values of the operator's own are left
    alone; never to a chart version that does not have the addon.

    :param switches: each becomes the path ``<below>.<addon>.enabled``
    :param always: send them whatever their values are
    """
    return {
        _addon(label, below): {"enabled": cluster.labels[label]}
        for label in switches
        if chart_versions.applies(label.charts, cluster.chart.version)
        and (always or _turned(cluster.labels, label))
    }


def _turned(found: labels.Values, label: labels.Label[bool]) -> bool:
    return found.given(label) is not None or found[label] != label.default


def _addon(label: labels.Label[bool], below: str) -> str:
    path = label.becomes[0]
    return path.removeprefix(f"{below}.").removesuffix(".enabled")
