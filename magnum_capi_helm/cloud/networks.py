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

"""Networks and subnets, as Neutron knows them."""

from __future__ import annotations

import functools
from typing import Any

from magnum_capi_helm import exceptions
from magnum_capi_helm.cloud import sessions


class Networks:
    """Lookups in Neutron.

    :param session: whose eyes to look with
    """

    def __init__(self, session: Any) -> None:
        self._session = session

    def network(self, ref: str) -> str:
        """The UUID of a network given by UUID or name."""
        return self._find("network", ref, self._network_api.find_network)

    def subnet(self, ref: str) -> str:
        """The UUID of a subnet given by UUID or name."""
        return self._find("subnet", ref, self._network_api.find_subnet)

    def _find(self, kind: str, ref: str, find: Any) -> str:
        with sessions.asking(f"{kind} {ref}"):
            found = find(ref, ignore_missing=True)
        if found is None:
            raise exceptions.InvalidInput(
                f"{kind} {ref} not found: choose one of "
                f"`openstack {kind} list`"
            )
        return str(found.id)

    @functools.cached_property
    def _network_api(self) -> Any:
        return sessions.proxy(self._session, "network", "neutron", "network")
