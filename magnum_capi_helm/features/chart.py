# SPDX-License-Identifier: Apache-2.0

"""Which chart version a new cluster gets."""

from __future__ import annotations

from magnum_capi_helm.features import topic
from magnum_capi_helm.model import labels
from magnum_capi_helm.model import option_types

VERSION = labels.Label(
    name="capi_helm_chart_version",
    type=option_types.Version(),
    default="",
    allowed="a chart version",
    details="an example is 0.27.0",
    help="Version of the openstack-cluster chart, read from the template "
    "alone. Default: [capi_helm] default_helm_chart_version.",
    scope=labels.Scope.TEMPLATE,
)

TOPIC = topic.Topic(name="Chart", labels=(VERSION,))
