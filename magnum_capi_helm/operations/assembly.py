# SPDX-License-Identifier: Apache-2.0

"""The complete values of a release: the topics', and the operator's."""

from __future__ import annotations

from magnum_capi_helm import runtime
from magnum_capi_helm.chart import image_mirrors
from magnum_capi_helm.chart import values
from magnum_capi_helm.config import conf
from magnum_capi_helm.features import topic
from magnum_capi_helm.helm import packages
from magnum_capi_helm.model import cluster_spec
from magnum_capi_helm.resolve import overlays


def values_of(
    rt: runtime.Runtime, cluster: cluster_spec.Cluster
) -> topic.Values:
    """What helm gets for ``cluster``.

    :raises InvalidInput: an overlay reaches for what it may not change
    :raises NotConfigured: a file of the operator can't be read
    """
    found = overlays.apply(values.build(cluster), cluster.labels)
    return mirrored(rt, cluster.chart, found)


def mirrored(
    rt: runtime.Runtime, chart: cluster_spec.Chart, found: topic.Values
) -> topic.Values:
    """Values whose addons come from the operator's repository, if any.

    Another version of the chart may have more addons, so this is for each
    values that get another chart as well.

    :raises ChartUnavailable: the chart's own values can't be read
    """
    url = conf.CONF.capi_helm.addon_repository
    if not url:
        return found
    package = packages.read(rt.charts.ensure(chart))
    return image_mirrors.with_repository(found, package.values, url)
