# SPDX-License-Identifier: Apache-2.0

"""Volume types and availability zones, as Cinder knows them."""

from __future__ import annotations

import functools
from typing import Any

from magnum_capi_helm.cloud import sessions
from magnum_capi_helm.model import errors

#: Cinder's placeholder, and no type to choose.
_PLACEHOLDER = "__DEFAULT__"


class Volumes:
    """Lookups in Cinder; each fact asked once.

    :param session: whose eyes to look with
    """

    def __init__(self, session: Any) -> None:
        self._session = session

    def volume_types(self) -> tuple[str, ...]:
        """Names of the types that the user sees, sorted.

        Without Cinder's placeholder ``__DEFAULT__``.
        """
        return self._volume_types

    def default_volume_type(self) -> str | None:
        """Cinder's own default type, as Cinder names it; None: it has none.

        May be the placeholder, or a type that the user does not see.
        """
        return self._default_volume_type

    def volume_zones(self) -> tuple[str, ...]:
        """Names of the zones in which volumes can be made."""
        return self._volume_zones

    @functools.cached_property
    def _volume_types(self) -> tuple[str, ...]:
        with sessions.asking("volume types"):
            found = {str(each.name) for each in self._volume_api.types()}
        return tuple(sorted(found - {_PLACEHOLDER}))

    @functools.cached_property
    def _default_volume_type(self) -> str | None:
        try:
            with sessions.asking("default volume type"):
                return str(self._volume_api.get_type("default").name)
        except errors.CloudError as error:
            if sessions.missing(error):
                return None
            raise

    @functools.cached_property
    def _volume_zones(self) -> tuple[str, ...]:
        with sessions.asking("availability zones of Cinder"):
            return sessions.available(self._volume_api.availability_zones())

    @functools.cached_property
    def _volume_api(self) -> Any:
        return sessions.proxy(
            self._session, "block-storage", "cinder", "block_storage"
        )
