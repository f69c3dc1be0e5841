# SPDX-License-Identifier: Apache-2.0
"""A disk of the conductor that is full or broken, and so takes no chart.

Nothing that was asked for is wrong then, and no label mends it.
"""

from __future__ import annotations

from collections.abc import Iterator
import contextlib
import errno

from magnum_capi_helm.model import errors

#: What such a disk says, whatever is written to it.
_NUMBERS = {errno.ENOSPC, errno.EDQUOT, errno.EROFS, errno.EIO}


def is_meant(error: Exception) -> bool:
    """Whether an error is one of the disk."""
    if isinstance(error, OSError):
        return error.errno in _NUMBERS
    return isinstance(error, errors.ChartUnstorable)


@contextlib.contextmanager
def told(what: str) -> Iterator[None]:
    """Say of what the block does to the store that it is the disk.

    Without its path, for tenants read this.

    :param what: is to be put into the store
    :raises ChartUnstorable: the disk is full, or broken
    """
    try:
        yield
    except (errors.ChartUnstorable, OSError) as error:
        if not is_meant(error):
            raise
        why = error.strerror if isinstance(error, OSError) else error
        raise errors.ChartUnstorable(
            f"{what} can't be put into the conductor's chart store ({why}); "
            "make room there, or see [capi_helm] chart_store"
        ) from error
