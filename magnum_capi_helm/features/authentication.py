# SPDX-License-Identifier: Apache-2.0

"""Users of Keystone or of an OIDC issuer; the cluster's own credential.

The Keystone webhook is installed by the k8s-keystone-auth chart. Its policy
is the value ``rbacPolicies``; the chart's own gives the roles ``k8s_admin``,
``k8s_developer`` and ``k8s_viewer`` of the project their rights.
"""

from __future__ import annotations

from typing import Any

from oslo_config import types

from magnum_capi_helm.features import arguments
from magnum_capi_helm.features import topic
from magnum_capi_helm.model import cluster_spec
from magnum_capi_helm.model import labels
from magnum_capi_helm.model import names
from magnum_capi_helm.model import paths
from magnum_capi_helm.model import versions

TOPIC = topic.Topic("Authentication")

#: Placeholder of the cluster's project in Magnum's policy file.
_PROJECT = "$PROJECT_ID"

_HOST = r"([A-Za-z0-9]([A-Za-z0-9.-]*[A-Za-z0-9])?|\[[0-9A-Fa-f:.]+\])"
#: ``--oidc-issuer-url``: https, no user, query or fragment.
_ISSUER = (
    rf"\A(https://{_HOST}(:[0-9]{{1,5}})?(/[A-Za-z0-9_.,:=/+@%*~-]*)?)?\Z"
)

#: Values of ``--oidc-signing-algs``.
_ALGORITHMS = tuple(
    f"{family}{bits}"
    for family in ("RS", "ES", "PS")
    for bits in (256, 384, 512)
)

#: The charts that have the values ``oidc``.
_WITH_OIDC = (versions.Range(since="0.11.0"),)

_WEBHOOK = "addons.openstack.k8sKeystoneAuth"

KEYSTONE = TOPIC.switch(
    "keystone_auth_enabled",
    help="Accept Keystone tokens at the Kubernetes API "
    "(k8s-keystone-auth webhook). The operator's policy in [kubernetes] "
    "keystone_auth_default_policy decides what users can do.",
    becomes=("authWebhook", f"{_WEBHOOK}.enabled"),
)


def _oidc(
    name: str,
    allowed: str,
    help_text: str,
    regex: str = rf"\A{arguments.HARMLESS_FORM}*\Z",
) -> labels.Label[str]:
    """Declare text that becomes an argument of kube-apiserver.

    :param name: two words, which the chart writes as issuerUrl
    """
    first, _, second = name.partition("_")
    return TOPIC.text(
        f"oidc_{name}",
        allowed,
        regex=regex,
        help=help_text,
        becomes=(f"oidc.{first}{second.title()}",),
        charts=_WITH_OIDC,
    )


_CLAIM = f"the name of a claim, of only {arguments.HARMLESS}"
ISSUER = _oidc(
    "issuer_url",
    "an https URL without user, query or fragment, of only letters, digits, "
    "full stops and _ , : = / + @ % * ~ -",
    "Issuer of OpenID Connect tokens that the Kubernetes API accepts.",
    _ISSUER,
)
CLIENT = _oidc(
    "client_id",
    f"the client ID that tokens are issued for, of only {arguments.HARMLESS}",
    "Client ID at the OIDC issuer; required with oidc_issuer_url.",
)
USERNAME_CLAIM = _oidc(
    "username_claim",
    _CLAIM,
    "Claim of an OIDC token with the user's name. Default: sub.",
)
USERNAME_PREFIX = _oidc(
    "username_prefix",
    f"a prefix of only {arguments.HARMLESS}, or - for no prefix",
    "Prefix of the user's name in Kubernetes. Default: oidc: with the colon.",
)
GROUPS_CLAIM = _oidc(
    "groups_claim",
    _CLAIM,
    "Claim of an OIDC token with the user's groups. Default: groups.",
)
GROUPS_PREFIX = _oidc(
    "groups_prefix",
    f"a prefix of only {arguments.HARMLESS}",
    "Prefix of the names of groups in Kubernetes. Default: oidc: with "
    "the colon.",
)
ALGORITHMS: labels.Label[list[str]] = TOPIC.label(
    "oidc_signing_algs",
    types.List(item_type=types.String(choices=_ALGORITHMS)),
    [],
    allowed=f"a comma separated list of {', '.join(_ALGORITHMS)}",
    help="Algorithms that may sign OIDC tokens. Default: RS256.",
    becomes=("oidc.signingAlgs",),
    charts=_WITH_OIDC,
)

#: Labels that have no effect without an issuer.
_DEPENDENT: tuple[labels.Label[Any], ...] = (
    CLIENT,
    USERNAME_CLAIM,
    USERNAME_PREFIX,
    GROUPS_CLAIM,
    GROUPS_PREFIX,
    ALGORITHMS,
)


def _check(cluster: cluster_spec.Cluster) -> None:
    settings = cluster.labels
    if settings[ISSUER] and not settings[CLIENT]:
        raise settings.refused(ISSUER, f"it together with {CLIENT.name}")
    topic.check_dependents(settings, _DEPENDENT, ISSUER)


def _webhook(cluster: cluster_spec.Cluster) -> topic.Leaves:
    policy = cluster.site.keystone_policy or ""
    webhook, enabled = KEYSTONE.becomes
    return {
        # Without the feature the key stays away: charts up to 0.15.0 take
        # any non-empty string, even "none", for a webhook.
        webhook: "k8s-keystone-auth",
        enabled: True,
        f"{_WEBHOOK}.values.openstackAuthUrl": cluster.identity_url,
        f"{_WEBHOOK}.values.projectId": cluster.project_id,
        f"{_WEBHOOK}.values.rbacPolicies": policy.replace(
            _PROJECT, cluster.project_id
        ),
    }


def _leaves(cluster: cluster_spec.Cluster) -> topic.Leaves:
    settings = cluster.labels
    leaves = {paths.CREDENTIALS: names.credentials(cluster.release)}
    if settings[KEYSTONE]:
        leaves |= _webhook(cluster)
    if settings[ISSUER]:
        leaves |= topic.changed(settings, ISSUER, *_DEPENDENT)
        algorithms = settings[ALGORITHMS]
        leaves[ALGORITHMS.becomes[0]] = ",".join(algorithms)
    return leaves


TOPIC.leaves = _leaves
TOPIC.check = _check
