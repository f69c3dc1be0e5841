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

"""The storage classes: one for each Cinder volume type."""

from __future__ import annotations

from typing import TYPE_CHECKING

from magnum_capi_helm import conf
from magnum_capi_helm import exceptions
from magnum_capi_helm import names
from magnum_capi_helm import spec

if TYPE_CHECKING:
    from magnum_capi_helm.cloud import catalogue


def storage_classes(
    cloud: catalogue.Cloud,
) -> tuple[spec.StorageClass, ...]:
    """The classes, the default one first.

    :raises NotConfigured: the operator's default type is not there
    """
    types = cloud.volume_types()
    default = conf.CONF.capi_helm.csi_cinder_default_volume_type
    if default:
        if default not in types:
            raise exceptions.NotConfigured(
                f"[capi_helm] csi_cinder_default_volume_type={default}: "
                f"Cinder has {', '.join(types) or 'no volume types'}"
            )
        types = tuple(sorted(types, key=lambda name: name != default))
    return tuple(
        spec.StorageClass(name=names.storage_class(name), volume_type=name)
        for name in types
    )
