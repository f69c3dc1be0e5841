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

"""Keystone users as Kubernetes users, and the cluster's own credential."""

from __future__ import annotations

from oslo_config import types

from magnum_capi_helm import labels
from magnum_capi_helm import names
from magnum_capi_helm import spec
from magnum_capi_helm.features import topic

KEYSTONE = labels.Label(
    name="keystone_auth_enabled",
    type=types.Boolean(),
    default=False,
    allowed="true or false",
    help="Accept Keystone tokens at the Kubernetes API "
    "(k8s-keystone-auth webhook).",
)


def _values(cluster: spec.Cluster) -> topic.Values:
    values: topic.Values = {
        "cloudCredentialsSecretName": names.credentials(cluster.release)
    }
    if cluster.labels[KEYSTONE]:
        # Without the feature the key stays away: charts up to 0.15.0 take
        # any non-empty string, even "none", for a webhook.
        values["authWebhook"] = "k8s-keystone-auth"
        values["addons"] = {
            "openstack": {
                "k8sKeystoneAuth": {
                    "enabled": True,
                    "values": {
                        "openstackAuthUrl": cluster.identity_url,
                        "projectId": cluster.project_id,
                    },
                }
            }
        }
    return values


TOPIC = topic.Topic(name="Authentication", labels=(KEYSTONE,), cluster=_values)
