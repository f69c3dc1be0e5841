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

"""What was last wanted of a release: chart, values and fingerprint.

Kept in a Secret beside the release and written *before* helm runs, so that
any conductor can finish what another began, and a changed default, image
name or driver version never reaches a cluster through a mere resize.
"""

from __future__ import annotations

import dataclasses
from typing import Any

from magnum_capi_helm import exceptions
from magnum_capi_helm import packed
from magnum_capi_helm import spec

_FORMAT = "1"


@dataclasses.dataclass(frozen=True)
class Intent:
    """One intent.

    :param fingerprint: of the rows it was made from (``wanted.Rows``)
    :param since: when it was written, seconds since 1970
    """

    chart: spec.Chart
    values: dict[str, Any]
    fingerprint: str
    since: float

    def to_secret(self) -> dict[str, str]:
        """The ``data`` of its Secret."""
        head = {
            "format": _FORMAT,
            "chart": dataclasses.asdict(self.chart),
            "fingerprint": self.fingerprint,
            "since": self.since,
        }
        return {
            "intent.json": packed.plain(head),
            "values.json.gz": packed.pack(self.values),
        }


def from_secret(data: dict[str, str]) -> Intent:
    """The intent that a Secret holds.

    :raises ManagementError: it holds none that this version can read
    """
    try:
        head = packed.read_plain(data["intent.json"])
        if head["format"] != _FORMAT:
            raise ValueError(head["format"])
        return Intent(
            chart=spec.Chart(**head["chart"]),
            values=packed.unpack(data["values.json.gz"]),
            fingerprint=head["fingerprint"],
            since=float(head["since"]),
        )
    except packed.DAMAGED as error:
        raise exceptions.ManagementError(
            f"the stored intent can't be read: {type(error).__name__}"
        ) from error
