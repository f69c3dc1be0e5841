# SPDX-License-Identifier: Apache-2.0

"""Authentication: a row for each label."""

from __future__ import annotations

_ISSUER = {
    "oidc_issuer_url": "https://id.example.org/realms/k8s",
    "oidc_client_id": "kubernetes",
}

#: label -> (a value that is not its default, what else it needs)
CHANGES: dict[str, tuple[str, dict[str, str]]] = {
    "keystone_auth_enabled": ("true", {}),
    "oidc_issuer_url": ("https://other.example.org", _ISSUER),
    "oidc_client_id": ("other", _ISSUER),
    "oidc_username_claim": ("email", _ISSUER),
    "oidc_username_prefix": ("-", _ISSUER),
    "oidc_groups_claim": ("roles", _ISSUER),
    "oidc_groups_prefix": ("sso:", _ISSUER),
    "oidc_signing_algs": ("ES256, RS256", _ISSUER),
}

#: label -> a value that no user may give
REFUSED: dict[str, str] = {
    "keystone_auth_enabled": "enabled",
    "oidc_issuer_url": "http://id.example.org",
    "oidc_client_id": "my client",
    "oidc_username_claim": "e mail",
    "oidc_username_prefix": " ",
    "oidc_groups_claim": "my groups",
    "oidc_groups_prefix": "a b",
    "oidc_signing_algs": "HS256",
}
