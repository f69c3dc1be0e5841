# SPDX-License-Identifier: Apache-2.0

"""The label that chooses the management cluster of new clusters.

Which one takes what is configured per management cluster and decided in
:mod:`magnum_capi_helm.planes.homes`; here is what a template may say.
"""

from __future__ import annotations

from oslo_config import types

from magnum_capi_helm.features import topic
from magnum_capi_helm.model import labels

NAME = labels.Label(
    name="capi_management_cluster",
    type=types.String(),
    default="",
    allowed="the name of a management cluster of this cloud",
    help="Management cluster that new clusters of this template are made on, "
    "read from the template alone. Default: any that takes them. A cluster "
    "that exists stays where it is.",
    scope=labels.Scope.TEMPLATE,
)

TOPIC = topic.Topic(name="Management cluster", labels=(NAME,))
