# SPDX-License-Identifier: Apache-2.0

"""Options of ``[capi_helm]`` for the delivery of kubeconfigs."""

from __future__ import annotations

from oslo_config import cfg

OPTIONS: list[cfg.Opt] = [
    cfg.StrOpt(
        "delivery_url",
        default="",
        secret=True,
        help="Where a kubeconfig of each cluster is sent by POST when the "
        "cluster is ready, and again when it changes: an https:// URL. "
        "Empty: nothing is sent.",
    ),
    cfg.StrOpt(
        "delivery_key_file",
        default="",
        help="File with the key that signs what is sent (HMAC-SHA256): 24 to "
        "64 bytes in base64, ``whsec_`` before it or not. A second line may "
        "have the former key: then both sign. Others must not be able to read "
        "the file. Read again for each delivery.",
    ),
    cfg.StrOpt(
        "delivery_ca_file",
        default="",
        help="PEM file with the CAs that the receiver's certificate may be "
        "of. Empty: those that Python's requests trusts.",
    ),
    cfg.StrOpt(
        "delivery_user",
        default="limited",
        choices=["limited", "admin"],
        help="Whose kubeconfig is sent. limited: of the user "
        "delivery_user_name, with a client certificate that the cluster's CA "
        "signs; what that user may do, is up to RBAC in the cluster. admin: "
        "the administrator's that Cluster API makes.",
    ),
    cfg.StrOpt(
        "delivery_user_name",
        default="magnum-delivery",
        help="Name of the limited user in Kubernetes, the common name of its "
        "certificate. Not one that begins with system:.",
    ),
    cfg.ListOpt(
        "delivery_user_groups",
        default=[],
        help="Groups of the limited user in Kubernetes, the organizations of "
        "its certificate. None that begins with system:.",
    ),
    cfg.IntOpt(
        "delivery_certificate_days",
        default=90,
        min=1,
        max=3650,
        help="Days for which the limited user's certificate is good. A new "
        "one is made and sent when a third of that is left: Kubernetes can't "
        "take a certificate back.",
    ),
    cfg.FloatOpt(
        "delivery_timeout",
        default=10.0,
        min=0.1,
        max=60.0,
        help="Seconds to wait for a connection to the receiver, and then for "
        "its answer.",
    ),
    cfg.IntOpt(
        "delivery_check_interval",
        default=3600,
        min=60,
        help="Seconds after which each conductor looks again whether a "
        "cluster's CA or credential has changed since it was delivered.",
    ),
]
