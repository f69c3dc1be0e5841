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

"""Volume types, as Cinder knows them."""

from __future__ import annotations

import functools
from typing import Any

from magnum_capi_helm.cloud import sessions


class Volumes:
    """Lookups in Cinder.

    :param session: whose eyes to look with
    """

    def __init__(self, session: Any) -> None:
        self._session = session

    def volume_types(self) -> tuple[str, ...]:
        """Names of Cinder's volume types, its default one first.

        ``__DEFAULT__`` is Cinder's placeholder and no type to choose.
        """
        with sessions.asking("volume types"):
            found = sorted(str(each.name) for each in self._volume_api.types())
            default = str(self._volume_api.get_type("default").name)
        names = [name for name in found if name != "__DEFAULT__"]
        return tuple(sorted(names, key=lambda name: name != default))

    @functools.cached_property
    def _volume_api(self) -> Any:
        return sessions.proxy(
            self._session, "block-storage", "cinder", "block_storage"
        )
