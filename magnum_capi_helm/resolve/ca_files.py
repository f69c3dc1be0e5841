# SPDX-License-Identifier: Apache-2.0

"""The operator's files with certificate authorities."""

from __future__ import annotations

import functools
import pathlib

import certifi

from magnum_capi_helm.model import errors
from magnum_capi_helm.model import pem


def read(path: str, origin: str) -> list[str]:
    """The certificates of a PEM file, without the text between them.

    :param origin: names file and option, for the message
    :raises NotConfigured: it can't be read, or has none
    """
    try:
        return pem.certificates(pathlib.Path(path).read_text("latin-1"))
    except OSError as error:
        raise errors.NotConfigured(f"{origin}: {error.strerror}") from error
    except ValueError as error:
        raise errors.NotConfigured(
            f"{origin}: holds no certificates in PEM"
        ) from error


@functools.lru_cache(maxsize=1)
def public() -> frozenset[str]:
    """What any machine trusts: Mozilla's list."""
    return frozenset(read(certifi.where(), "certifi"))
