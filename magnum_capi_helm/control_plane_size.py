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

"""How many machines a control plane may have."""

from __future__ import annotations

from magnum_capi_helm import exceptions

#: etcd needs a majority: an even number bears no more losses than the odd
#: one below it, and beyond seven each write waits for too many (etcd's FAQ).
SIZES = (1, 3, 5, 7)


def check(count: int, name: str) -> None:
    """Refuse a size that no control plane can have.

    :param name: of the field that has the count
    :raises InvalidInput: with the sizes that are allowed
    """
    if count not in SIZES:
        *first, last = map(str, SIZES)
        raise exceptions.InvalidInput(
            f"{name}={count}: a control plane, whose machines run etcd, has "
            f"an odd number of machines; give {', '.join(first)} or {last}"
        )
