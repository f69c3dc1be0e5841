# SPDX-License-Identifier: Apache-2.0

"""What a kubeconfig's current context names, and whether it can be used.

Only that is looked at: what other contexts refer to may be missing here.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any
import urllib.parse

from magnum_capi_helm.model import errors

_KINDS = ("cluster", "user")
_FILES = {
    "cluster": ("certificate-authority",),
    "user": ("client-certificate", "client-key"),
}


def chosen(document: dict[str, Any], path: str) -> dict[str, Any]:
    """The kubeconfig with nothing but its current context.

    :raises NotConfigured: there is no such context, or no such cluster
    """
    context = _named(document, "contexts", document.get("current-context"))
    body = (context or {}).get("context") or {}
    cluster = _named(document, "clusters", body.get("cluster"))
    if cluster is None or not isinstance(cluster.get("cluster"), dict):
        raise errors.NotConfigured(
            f"the kubeconfig {path} does not say which cluster and user to "
            "take: set its current-context"
        )
    user = _named(document, "users", body.get("user"))
    return {
        **document,
        "contexts": [context],
        "clusters": [cluster],
        "users": [user] if user else [],
    }


def check(document: dict[str, Any], path: str) -> None:
    """Look at the server, and at the files that are named.

    :param document: as :func:`chosen` returns it
    :raises NotConfigured: one of them can't be used
    """
    for kind in _KINDS:
        for entry in document[f"{kind}s"]:
            for field in _FILES[kind]:
                readable(entry.get(kind) or {}, field, path)
    for entry in document["clusters"]:
        if not _is_url(entry["cluster"].get("server", "http://localhost")):
            # It may have a password in it: not shown.
            raise errors.NotConfigured(
                f"the kubeconfig {path}: its cluster's server is no URL: "
                "give one such as https://api.example.org:6443"
            )


def readable(body: Mapping[str, Any], field: str, path: str) -> None:
    """Look whether the file that a field names is there.

    :param body: of a cluster or a user
    :raises NotConfigured: it is not, or can't be read
    """
    file = body.get(field)
    if not file:
        return
    try:
        with open(file, "rb"):
            return
    except OSError as error:
        raise errors.NotConfigured(
            f"the kubeconfig {path}: {field} {file}: {error.strerror}"
        ) from error


def _named(
    document: dict[str, Any], kind: str, name: object
) -> dict[str, Any] | None:
    """The last one of that name, as the client would take it."""
    every = document.get(kind) or []
    found = [each for each in every if each.get("name") == name]
    return found[-1] if found and name else None


def _is_url(text: object) -> bool:
    try:
        found = urllib.parse.urlsplit(str(text))
        # Its port is parsed when it is asked for.
        return bool(
            found.scheme in ("http", "https")
            and found.hostname
            and found.port != 0
        )
    except ValueError:
        return False
