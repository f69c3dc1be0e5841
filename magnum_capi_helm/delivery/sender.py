# SPDX-License-Identifier: Apache-2.0

"""One POST to the receiver. Nothing of what is sent is in an exception."""

from __future__ import annotations

from collections.abc import Mapping
import socket
import ssl

import certifi
import requests

from magnum_capi_helm.delivery import settings
from magnum_capi_helm.model import error_text
from magnum_capi_helm.model import errors


class NotDeliveredError(errors.CapiHelmError):
    """The receiver did not take it.

    :param away: it did not answer at all: nor would it for another cluster
    """

    retriable = True

    def __init__(self, text: str, *, away: bool) -> None:
        super().__init__(text)
        self.away = away


def post(
    options: settings.Settings, headers: Mapping[str, str], body: bytes
) -> None:
    """Send a body, and look at the status of the answer alone.

    No proxy is asked and no password looked up: what the environment says
    of them is for other programs of the host. A redirect is not followed.

    :param headers: that sign it
    :raises NotDeliveredError: it was not accepted with a 2xx
    """
    with requests.Session() as session:
        session.trust_env = False
        try:
            answer = session.post(
                options.url,
                data=body,
                headers={
                    "Content-Type": "application/json",
                    "User-Agent": "magnum-capi-helm",
                    **headers,
                },
                timeout=(options.timeout, options.timeout),
                verify=options.ca_file or True,
                allow_redirects=False,
                stream=True,
            )
            status = int(answer.status_code)
        except (requests.RequestException, OSError, ValueError) as error:
            # Not chained: its text has the URL, and its request the body.
            failure = _failure(options, error)
            raise failure from None
    _accepted(options, status)


def _accepted(options: settings.Settings, status: int) -> None:
    """Look at the status of an answer.

    :raises NotDeliveredError: it is no 2xx
    """
    if 300 <= status < 400:
        raise NotDeliveredError(
            f"{options.receiver} answered with a redirect ({status}), which "
            "is not followed: set [capi_helm] delivery_url to where it leads",
            away=False,
        )
    if not 200 <= status < 300:
        raise NotDeliveredError(
            f"{options.receiver} answered {status}", away=False
        )


def probe(options: settings.Settings) -> None:
    """Look at the receiver's certificate; nothing is sent.

    :raises NotDeliveredError: it does not answer, or is not to be trusted
    """
    if not options.ca_file:
        context = ssl.create_default_context(cafile=certifi.where())
    else:
        context = ssl.create_default_context(cafile=options.ca_file)
    where = (options.host, options.port)
    try:
        with (
            socket.create_connection(where, options.timeout) as plain,
            context.wrap_socket(plain, server_hostname=options.host),
        ):
            pass
    except OSError as error:
        failure = _failure(options, error)
        raise failure from None


def _failure(
    options: settings.Settings, error: Exception
) -> NotDeliveredError:
    """What went wrong, without what was sent and where exactly."""
    if untrusted := error_text.untrusted(error):
        where = options.ca_file or "the CAs that requests trusts"
        return NotDeliveredError(
            f"the certificate of {options.receiver} is not trusted, and "
            f"nothing was sent: {untrusted} (by {where}; see [capi_helm] "
            "delivery_ca_file)",
            away=True,
        )
    return NotDeliveredError(
        f"{options.receiver} does not answer ({error_text.words(error)})",
        away=True,
    )
