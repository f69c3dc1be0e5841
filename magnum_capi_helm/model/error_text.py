# SPDX-License-Identifier: Apache-2.0

"""Why somebody did not answer, in words, from what was raised.

Libraries wrap what went wrong several times over, and the texts of their
exceptions have URLs and requests in them: nothing of those is told.
"""

from __future__ import annotations

from collections.abc import Iterator
import os
import ssl


def causes(error: BaseException | None) -> Iterator[BaseException]:
    """An exception, and those that it was made from."""
    while error is not None:
        yield error
        error = error.__cause__ or error.__context__


def untrusted(error: Exception) -> str:
    """What is wrong with the certificate that was shown; empty: nothing."""
    for each in causes(error):
        if isinstance(each, ssl.SSLCertVerificationError):
            return str(each.verify_message).rstrip(".")
    return ""


def words(error: Exception) -> str:
    """What the operating system or TLS said, else the exception's class."""
    why = type(error).__name__
    for each in causes(error):
        if isinstance(each, ssl.SSLError):
            why = each.reason or "no TLS"
        elif isinstance(each, OSError) and each.strerror:
            # Under eventlet the text is the number's name; those of name
            # look-ups are below zero, and have texts of their own.
            number = each.errno or 0
            why = os.strerror(number) if number > 0 else each.strerror
    return why
