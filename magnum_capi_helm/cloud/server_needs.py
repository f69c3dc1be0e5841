# SPDX-License-Identifier: Apache-2.0

"""Ask OpenStack for what a new server needs: image, flavor, server group."""

from __future__ import annotations

from typing import Any

from magnum_capi_helm.cloud import sessions
from magnum_capi_helm.status import view


def missing(session: Any, spec: view.Object) -> str:
    """Return the first need of a new server that is not there, or nothing.

    The words are CAPO's own, where it has any.

    :param spec: of the OpenStackServer
    """
    compute = sessions.proxy(session, "compute")
    image = sessions.proxy(session, "image")
    group = _identity(spec.get("serverGroup") or {})
    needs = (
        (
            _identity(spec.get("image") or {}),
            image.find_image,
            "No images were found with the given image filter: name=",
        ),
        (
            spec.get("flavor") or spec.get("flavorID"),
            compute.find_flavor,
            "No flavors were found: name=",
        ),
        (group, compute.find_server_group, "no such server group: "),
    )
    for name, find, text in needs:
        with sessions.asking(f"{text}{name}"):
            if name and find(name) is None:
                return f"{text}{name}"
    return ""


def _identity(reference: view.Object) -> str:
    """Return the ID or the name in a reference to an OpenStack resource."""
    by_name = (reference.get("filter") or {}).get("name")
    return str(reference.get("id") or by_name or "")
