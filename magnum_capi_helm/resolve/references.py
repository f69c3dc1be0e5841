# SPDX-License-Identifier: Apache-2.0

"""Zones and volume types that labels name: are they there?

Only what users gave is looked up: a default of the operator, or 1.4.0's zone
``nova``, need not exist. A service is asked only when a label needs it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
import contextlib
from typing import TYPE_CHECKING, Any

from magnum_capi_helm.features import disks
from magnum_capi_helm.features import etcd
from magnum_capi_helm.features import nodes
from magnum_capi_helm.features import placement
from magnum_capi_helm.features import storage
from magnum_capi_helm.model import errors
from magnum_capi_helm.model import labels

if TYPE_CHECKING:
    from magnum_capi_helm.cloud import catalogue


@contextlib.contextmanager
def named(field: str) -> Iterator[None]:
    """Say of what the cloud does not have which field or label names it.

    :raises InvalidInput: in place of one that was raised inside
    """
    try:
        yield
    except errors.InvalidInput as error:
        raise errors.InvalidInput(f"{field}: {error}") from error


_OF_GROUPS = (
    (placement.ZONE, "compute_zones"),
    (nodes.BOOT_VOLUME_ZONE, "volume_zones"),
    (nodes.BOOT_VOLUME_TYPE, "volume_types"),
    (disks.VOLUME_TYPE, "volume_types"),
)
_OF_CLUSTERS = (
    (placement.CONTROL_PLANE_ZONES, "compute_zones"),
    (etcd.VOLUME_AZ, "volume_zones"),
    (etcd.VOLUME_TYPE, "volume_types"),
    (storage.AVAILABILITY_ZONE, "volume_zones"),
)


def check_group(found: labels.Values, cloud: catalogue.Cloud) -> None:
    """Look up what the labels of a group name.

    :raises LabelError: with what there is
    """
    _check(_OF_GROUPS, found, cloud)


def check_cluster(found: labels.Values, cloud: catalogue.Cloud) -> None:
    """Look up what the labels of a cluster name.

    :raises LabelError: with what there is
    """
    _check(_OF_CLUSTERS, found, cloud)


def _check(
    references: Iterable[tuple[labels.Label[Any], str]],
    found: labels.Values,
    cloud: catalogue.Cloud,
) -> None:
    for label, question in references:
        if found.given(label) is None:
            continue
        wanted = found[label]
        several = wanted if isinstance(wanted, list) else [wanted]
        known: Callable[[], tuple[str, ...]] = getattr(cloud, question)
        for name in several:
            if name and name not in known():
                raise found.refused(
                    label,
                    label.allowed,
                    f"{errors.shown(name)} is none of those that are "
                    f"there ({', '.join(known()) or 'none'})",
                )
