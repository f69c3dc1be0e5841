# SPDX-License-Identifier: Apache-2.0

"""Ask OpenStack for what a new server needs: image, flavor, server group.

And for what comes before: CAPO has to trust Keystone.
"""

from __future__ import annotations

import ssl
from typing import Any
import urllib.request

from magnum_capi_helm.cloud import credential_secret
from magnum_capi_helm.cloud import sessions
from magnum_capi_helm.model import errors
from magnum_capi_helm.status import view

#: Seconds for the TLS handshake, and Keystone's list of versions.
_TIMEOUT = 3.0


def untrusted(secret: view.Object | None) -> str:
    """Return why CAPO does not trust Keystone with a cluster's CAs, or "".

    The words are those of Go's ``crypto/x509``, which CAPO writes to its log
    alone. It trusts the CAs of the Secret, if there are any, and no others
    (``NewProviderClient`` in ``pkg/scope/provider.go``).

    :param secret: with the cluster's credential
    :raises ManagementError: the Secret is damaged
    """
    content = credential_secret.clouds(secret)
    if secret is None or content is None:
        return ""
    cloud = content["clouds"]["openstack"]
    url = str(cloud["auth"].get("auth_url", ""))
    cas = credential_secret.ca_bundle(secret).strip()
    verifies = cloud.get("verify") is not False
    if not (cas and verifies and url.startswith("https://")):
        return ""
    try:
        trusted = ssl.create_default_context(cadata=cas)
        # The scheme was checked.
        urllib.request.urlopen(  # noqa: S310 # nosec B310
            url, timeout=_TIMEOUT, context=trusted
        ).close()
    except (OSError, ValueError) as error:
        problem = errors.certificate_problem(error)
        if "expired" in problem:
            return "x509: certificate has expired or is not yet valid"
        if problem:
            return "x509: certificate signed by unknown authority"
    return ""


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
