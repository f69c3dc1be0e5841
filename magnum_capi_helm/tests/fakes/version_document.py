# SPDX-License-Identifier: Apache-2.0

"""What a service of OpenStack says of a version of its API."""

from __future__ import annotations

from typing import Any


def version(name: str, url: str, newest: str = "") -> dict[str, Any]:
    """One that is current.

    :param newest: microversion
    """
    return {
        "id": name,
        "status": "CURRENT",
        "version": newest,
        "min_version": "2.1" if newest.startswith("2") else "3.0",
        "links": [{"rel": "self", "href": url}],
    }
