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

"""Requests to the management cluster, and faults that some of them meet."""

from __future__ import annotations

from collections.abc import Collection
import dataclasses
from typing import NamedTuple

from magnum_capi_helm.management import kinds


class Request(NamedTuple):
    """One request that was made."""

    verb: str
    kind: str
    name: str


@dataclasses.dataclass
class Fault:
    """An error, and the requests that meet it.

    :param times: how many of them; ``None``: all
    """

    error: BaseException
    verbs: Collection[str]
    kind: kinds.Kind | None
    name: str
    times: int | None

    def hits(self, request: Request) -> bool:
        """Whether a request meets it."""
        return (
            self.times != 0
            and (not self.verbs or request.verb in self.verbs)
            and (self.kind is None or request.kind == self.kind.name)
            and self.name in request.name
        )
