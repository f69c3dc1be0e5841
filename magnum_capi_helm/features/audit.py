# SPDX-License-Identifier: Apache-2.0

"""The audit log of the Kubernetes API."""

from __future__ import annotations

from magnum_capi_helm.features import topic
from magnum_capi_helm.model import cluster_spec
from magnum_capi_helm.model import encoding
from magnum_capi_helm.model import label_types
from magnum_capi_helm.model import labels
from magnum_capi_helm.model import paths

TOPIC = topic.Topic("Audit log")

_POLICY = "/etc/kubernetes/audit/policy.yaml"
_LOG = "/var/log/kubernetes/audit/audit.log"

ENABLED = TOPIC.switch(
    "audit_log_enabled",
    help="Log the requests to the Kubernetes API. The log is the file "
    f"{_LOG} of each control plane machine.",
    becomes=(
        f"{paths.PLANE_KUBEADM}.files",
        f"{paths.API_SERVER}.extraArgs.audit-log-path",
        f"{paths.API_SERVER}.extraArgs.audit-policy-file",
        f"{paths.API_SERVER}.extraVolumes",
    ),
)
LEVEL = TOPIC.choice(
    "audit_log_policy_level",
    ("Metadata", "Request", "RequestResponse"),
    "Metadata",
    help="Detail of the log for requests that change something: user, time "
    "and action (Metadata), the content of the request too (Request), or "
    "the content of the response as well (RequestResponse). Requests about "
    "Secrets, ConfigMaps and tokens, and requests that only read, are always "
    "logged at the level Metadata.",
    becomes=(f"{paths.PLANE_KUBEADM}.files",),
)


#: More than any disk can hold.
_MOST = 100000


def _limit(
    limit: str, default: int, allowed: str, help_text: str
) -> labels.Label[int]:
    """Declare a limit of the log files; Heat's name has no underscore."""
    return TOPIC.label(
        f"audit_log_max_{limit}",
        label_types.Integer(1, _MOST, allowed),
        default,
        help=help_text,
        aliases=(f"audit_log_max{limit}",),
        becomes=(f"{paths.API_SERVER}.extraArgs.audit-log-max{limit}",),
    )


MAX_AGE = _limit(
    "age",
    30,
    "a number of days",
    "Days after which the API server removes an old log file.",
)
MAX_BACKUP = _limit(
    "backup",
    10,
    "a number of files",
    "Number of old log files that the API server keeps.",
)
MAX_SIZE = _limit(
    "size",
    100,
    "a size in MB",
    "Size in MB at which the API server starts a new log file.",
)

#: First match wins. The first half keeps the log readable: what components
#: ask all the time tells nothing about users.
_DEFAULT_POLICY = encoding.package_text("features/audit-policy.yaml")


def _check(cluster: cluster_spec.Cluster) -> None:
    """Refuse a level if the operator's policy, or no log, is used.

    :raises LabelError: naming the label
    """
    settings = cluster.labels
    topic.check_dependents(
        settings, (LEVEL, MAX_AGE, MAX_BACKUP, MAX_SIZE), ENABLED
    )
    if cluster.site.audit_policy and settings.given(LEVEL):
        raise settings.refused(
            LEVEL, "none: the operator sets the policy of this cloud"
        )


def _leaves(cluster: cluster_spec.Cluster) -> topic.Leaves:
    settings = cluster.labels
    if not settings[ENABLED]:
        return {}
    own = _DEFAULT_POLICY.replace("LEVEL", settings[LEVEL])
    policy = cluster.site.audit_policy or own
    return {
        LEVEL.becomes[0]: [topic.machine_file(_POLICY, policy, "0600")],
        f"{paths.API_SERVER}.extraArgs.audit-policy-file": _POLICY,
        f"{paths.API_SERVER}.extraArgs.audit-log-path": _LOG,
        **{
            label.becomes[0]: str(settings[label])
            for label in (MAX_AGE, MAX_BACKUP, MAX_SIZE)
        },
        f"{paths.API_SERVER}.extraVolumes": [
            _volume("audit-policy", _POLICY, writable=False),
            _volume("audit-log", _LOG, writable=True),
        ],
    }


def _volume(name: str, file: str, *, writable: bool) -> paths.Values:
    """Return the folder of a file, for the API server's pod.

    The folder and not the file: a log that is rotated is another file.
    """
    folder = file.rpartition("/")[0]
    return {
        "name": name,
        "hostPath": folder,
        "mountPath": folder,
        "readOnly": not writable,
        "pathType": "DirectoryOrCreate" if writable else "Directory",
    }


TOPIC.leaves = _leaves
TOPIC.check = _check
