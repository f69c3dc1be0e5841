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

"""OpenStack's catalogue, as the driver asks for it, from dictionaries.

The same methods as :class:`magnum_capi_helm.cloud.catalogue.Cloud`.
"""

from __future__ import annotations

import dataclasses

from magnum_capi_helm import exceptions
from magnum_capi_helm import spec


@dataclasses.dataclass
class FakeCloud:
    """What there is, by name; whatever is not here is not found."""

    images: dict[str, spec.Image] = dataclasses.field(default_factory=dict)
    flavors: dict[str, str] = dataclasses.field(default_factory=dict)
    networks: dict[str, str] = dataclasses.field(default_factory=dict)
    subnets: dict[str, str] = dataclasses.field(default_factory=dict)
    types: tuple[str, ...] = ()
    identity: str = "http://keystone.test/v3"

    def image(self, ref: str) -> spec.Image:
        """As the real one."""
        if ref not in self.images:
            raise exceptions.InvalidInput(f"image {ref} not found")
        return self.images[ref]

    def flavor(self, ref: str) -> str:
        """As the real one."""
        return _find("flavor", ref, self.flavors)

    def network(self, ref: str) -> str:
        """As the real one."""
        return _find("network", ref, self.networks)

    def subnet(self, ref: str) -> str:
        """As the real one."""
        return _find("subnet", ref, self.subnets)

    def volume_types(self) -> tuple[str, ...]:
        """As the real one."""
        return self.types

    def endpoint(self, service: str, interface: str) -> str:
        """As the real one."""
        return f"http://{service}.test/{interface}"

    def cluster_identity_url(self) -> str:
        """As the real one."""
        return self.identity


def _find(kind: str, ref: str, known: dict[str, str]) -> str:
    if ref not in known:
        raise exceptions.InvalidInput(f"{kind} {ref} not found")
    return known[ref]
