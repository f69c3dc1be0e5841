# SPDX-License-Identifier: Apache-2.0

"""What clients get of an error of Magnum's API."""

from __future__ import annotations

import dataclasses
import json
from typing import Any

from magnum.api.middleware import parsable_error
from wsme import api as wsme_api
from wsme.rest import json as wsme_json


@dataclasses.dataclass(frozen=True)
class Answer:
    """An error as it is in the body of an HTTP response.

    :param printed: the line that ``openstack coe`` prints: the title, as
        ``magnumclient.exceptions.HttpError`` formats it
    :param detail: what ``openstack --debug`` and Terraform show as well
    """

    printed: str
    detail: str


def answer(error: Exception) -> Answer:
    """Return what Magnum's API makes of an exception of the conductor.

    The exception takes the way that it takes there: WSME formats it, and
    Magnum's own middleware makes title and detail of the text.
    """
    code = int(getattr(error, "code", 500))
    fault = wsme_api.format_exception((type(error), error, None))

    def app(environ: Any, start_response: Any) -> list[bytes]:
        start_response(f"{code} refused", [])
        return [wsme_json.encode_error(None, fault).encode()]

    def start_response(*args: Any) -> None:
        """Nothing is sent."""

    middleware = parsable_error.ParsableErrorMiddleware(app)
    found = json.loads(b"".join(middleware({}, start_response)))["errors"][0]
    return Answer(f"{found['title']} (HTTP {code})", found["detail"])
