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

"""Which chart version a new cluster gets."""

from __future__ import annotations

from magnum_capi_helm import labels
from magnum_capi_helm.features import topic
from magnum_capi_helm.label_types import option_types

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
