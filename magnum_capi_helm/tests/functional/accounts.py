# SPDX-License-Identifier: Apache-2.0
"""Kubeconfigs of a management cluster that are not as they should be."""

from __future__ import annotations

import base64
from collections.abc import Mapping
import json
import pathlib
from typing import Any

from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import padding
from cryptography.hazmat.primitives.asymmetric import rsa
import yaml

_ISSUER = "https://kubernetes.default.svc.cluster.local"


def changed(kubeconfig: str, **changes: str) -> str:
    """A kubeconfig with another server, authority or token.

    :param changes: ``server``, ``authority`` (in PEM), ``token``
    """
    document: dict[str, Any] = yaml.safe_load(kubeconfig)
    cluster = document["clusters"][0]["cluster"]
    if server := changes.get("server"):
        cluster["server"] = server
    if authority := changes.get("authority"):
        data = base64.b64encode(authority.encode()).decode()
        cluster["certificate-authority-data"] = data
    if token := changes.get("token"):
        document["users"][0]["user"] = {"token": token}
    return str(yaml.safe_dump(document))


def token(key: pathlib.Path, account: Mapping[str, Any], ends: int) -> str:
    """A token of a ServiceAccount, as the API server signs it.

    :param key: the API server's, which signs them
    :param account: the ServiceAccount
    :param ends: seconds since 1970, which may be over
    """
    meta = account["metadata"]
    namespace, name = meta["namespace"], meta["name"]
    claims = {
        "aud": [_ISSUER],
        "exp": ends,
        "iat": ends - 86400,
        "iss": _ISSUER,
        "kubernetes.io": {
            "namespace": namespace,
            "serviceaccount": {"name": name, "uid": meta["uid"]},
        },
        "nbf": ends - 86400,
        "sub": f"system:serviceaccount:{namespace}:{name}",
    }
    signer = serialization.load_pem_private_key(key.read_bytes(), None)
    assert isinstance(signer, rsa.RSAPrivateKey)
    head = ".".join(
        _coded(json.dumps(each).encode())
        for each in ({"alg": "RS256", "typ": "JWT"}, claims)
    )
    signed = signer.sign(head.encode(), padding.PKCS1v15(), hashes.SHA256())
    return f"{head}.{_coded(signed)}"


def _coded(data: bytes) -> str:
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()
