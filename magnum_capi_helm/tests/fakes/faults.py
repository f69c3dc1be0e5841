# SPDX-License-Identifier: Apache-2.0

"""Requests to the management cluster, and faults that some of them meet."""

from __future__ import annotations

from collections.abc import Collection
import dataclasses
from typing import NamedTuple

from magnum_capi_helm.kubernetes import kinds


class Request(NamedTuple):
    """One request that was made."""

    verb: str
    kind: str
    name: str


@dataclasses.dataclass
class Fault:
    """An error, and the requests that meet it.

    :param times: how many of them; ``None``: all
    :param after: requests that succeed before
    """

    error: BaseException
    verbs: Collection[str]
    kind: kinds.Kind | None
    name: str
    times: int | None
    after: int = 0

    def hits(self, request: Request) -> bool:
        """Whether a request meets it."""
        return (
            self.times != 0
            and (not self.verbs or request.verb in self.verbs)
            and (self.kind is None or request.kind == self.kind.name)
            and self.name in request.name
        )
