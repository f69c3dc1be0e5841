# SPDX-License-Identifier: Apache-2.0

"""The storage classes: one for each Cinder volume type."""

from __future__ import annotations

from typing import TYPE_CHECKING

from magnum_capi_helm.config import conf
from magnum_capi_helm.features import storage
from magnum_capi_helm.model import cluster_spec
from magnum_capi_helm.model import errors
from magnum_capi_helm.model import labels
from magnum_capi_helm.model import names

if TYPE_CHECKING:
    from magnum_capi_helm.cloud import catalogue


def storage_classes(
    cloud: catalogue.Cloud, found: labels.Values
) -> tuple[cluster_spec.StorageClass, ...]:
    """The classes, the default one first, the others by volume type.

    None is the default one where Cinder's default type is none that the user
    may choose: any other would be a guess, and it may cost or lose data.

    :param found: the cluster's labels
    :raises NotConfigured: the operator's default type is not there
    """
    if not found[storage.ENABLED]:
        return ()  # the cloud may have no Cinder at all
    types = cloud.volume_types()
    default = _default(cloud, types)
    if not types and default:
        # There is the placeholder alone, or a type that users don't see.
        name = names.storage_class("default")
        return (
            cluster_spec.StorageClass(name, volume_type=None, default=True),
        )
    classes = [
        cluster_spec.StorageClass(
            name, volume_type, default=volume_type == default
        )
        for volume_type, name in names.storage_classes(types).items()
    ]
    return tuple(sorted(classes, key=lambda each: not each.default))


def _default(cloud: catalogue.Cloud, types: tuple[str, ...]) -> str | None:
    """The volume type of claims that name no class: the operator's choice."""
    chosen: str | None = conf.CONF.capi_helm.csi_cinder_default_volume_type
    if not chosen:
        return cloud.default_volume_type()
    if chosen not in types:
        raise errors.NotConfigured(
            "[capi_helm] csi_cinder_default_volume_type: Cinder has no such "
            f"volume type. It is {errors.shown(chosen)}; Cinder has "
            f"{', '.join(types) or 'no volume types'}"
        )
    return chosen
