# SPDX-License-Identifier: Apache-2.0

"""How many machines a control plane may have."""

from __future__ import annotations

from magnum_capi_helm.model import errors

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
        raise errors.InvalidInput(
            f"{name}={count}: a control plane, whose machines run etcd, has "
            f"an odd number of machines; give {', '.join(first)} or {last}"
        )
