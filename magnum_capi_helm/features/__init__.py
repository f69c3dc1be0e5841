# SPDX-License-Identifier: Apache-2.0

"""The topics: one file each, its labels and its share of the values."""

from __future__ import annotations

from typing import Any

from magnum_capi_helm.features import addons
from magnum_capi_helm.features import admission
from magnum_capi_helm.features import api_server
from magnum_capi_helm.features import arguments
from magnum_capi_helm.features import audit
from magnum_capi_helm.features import authentication
from magnum_capi_helm.features import autoscaling
from magnum_capi_helm.features import chart
from magnum_capi_helm.features import disks
from magnum_capi_helm.features import encryption
from magnum_capi_helm.features import etcd
from magnum_capi_helm.features import hardware
from magnum_capi_helm.features import healing
from magnum_capi_helm.features import load_balancing
from magnum_capi_helm.features import management_cluster
from magnum_capi_helm.features import monitoring
from magnum_capi_helm.features import networking
from magnum_capi_helm.features import nodes
from magnum_capi_helm.features import placement
from magnum_capi_helm.features import profiles
from magnum_capi_helm.features import proxies
from magnum_capi_helm.features import registries
from magnum_capi_helm.features import renewal
from magnum_capi_helm.features import shared_storage
from magnum_capi_helm.features import storage
from magnum_capi_helm.features import topic
from magnum_capi_helm.features import trust
from magnum_capi_helm.model import labels

TOPICS: tuple[topic.Topic, ...] = (
    chart.TOPIC,
    profiles.TOPIC,
    management_cluster.TOPIC,
    nodes.TOPIC,
    disks.TOPIC,
    placement.TOPIC,
    networking.TOPIC,
    proxies.TOPIC,
    api_server.TOPIC,
    load_balancing.TOPIC,
    admission.TOPIC,
    audit.TOPIC,
    arguments.TOPIC,
    etcd.TOPIC,
    encryption.TOPIC,
    authentication.TOPIC,
    registries.TOPIC,
    trust.TOPIC,
    autoscaling.TOPIC,
    healing.TOPIC,
    renewal.TOPIC,
    storage.TOPIC,
    shared_storage.TOPIC,
    addons.TOPIC,
    monitoring.TOPIC,
    hardware.TOPIC,
)

LABELS: tuple[labels.Label[Any], ...] = tuple(
    label for each in TOPICS for label in each.labels
)
