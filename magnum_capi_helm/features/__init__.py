# SPDX-License-Identifier: Apache-2.0

"""All topics, in the order in which the driver checks them."""

from __future__ import annotations

from typing import Any

from magnum_capi_helm.features import addons
from magnum_capi_helm.features import admission
from magnum_capi_helm.features import api_server
from magnum_capi_helm.features import arguments
from magnum_capi_helm.features import audit
from magnum_capi_helm.features import authentication
from magnum_capi_helm.features import autoscaling
from magnum_capi_helm.features import egress
from magnum_capi_helm.features import etcd
from magnum_capi_helm.features import healing
from magnum_capi_helm.features import networking
from magnum_capi_helm.features import nodes
from magnum_capi_helm.features import storage
from magnum_capi_helm.features import template
from magnum_capi_helm.features import topic
from magnum_capi_helm.model import labels

TOPICS: tuple[topic.Topic, ...] = (
    template.TOPIC,
    template.PROFILES,
    template.MANAGEMENT_CLUSTER_TOPIC,
    template.UPGRADES,
    nodes.TOPIC,
    nodes.CONTAINER_STORAGE,
    nodes.PLACEMENT,
    networking.TOPIC,
    egress.TOPIC,
    api_server.TOPIC,
    api_server.LOAD_BALANCERS,
    admission.TOPIC,
    audit.TOPIC,
    arguments.TOPIC,
    etcd.TOPIC,
    etcd.ENCRYPTION_TOPIC,
    authentication.TOPIC,
    egress.REGISTRIES,
    egress.TRUST,
    autoscaling.TOPIC,
    healing.TOPIC,
    healing.REPLACEMENT,
    healing.CERTIFICATES,
    storage.TOPIC,
    storage.SHARED_VOLUMES,
    addons.TOPIC,
    addons.MONITORING,
    addons.HARDWARE,
)

LABELS: tuple[labels.Label[Any], ...] = tuple(
    label for each in TOPICS for label in each.labels
)
#: Those that a nodegroup can have.
LABELS_OF_GROUPS = tuple(
    label for label in LABELS if label.scope is labels.Scope.NODEGROUP
)
