# SPDX-License-Identifier: Apache-2.0

"""Options of clusters' credentials and certificates."""

from __future__ import annotations

from oslo_config import cfg

OPTIONS: list[cfg.Opt] = [
    cfg.StrOpt(
        "app_cred_interface_type",
        default="public",
        choices=[
            "public",
            "internal",
            "admin",
            # As Keystone's older clients spell them, and 1.4.0 took them.
            "publicURL",
            "internalURL",
            "adminURL",
        ],
        help="Endpoint interface by which a cluster's machines and the "
        "management cluster reach OpenStack.",
    ),
    cfg.ListOpt(
        "app_cred_roles",
        default=[],
        help="Roles of a cluster's application credential, as far as the "
        "creating user has them. Empty: all of that user's roles. The role "
        "admin is never passed on.",
    ),
    cfg.StrOpt(
        "app_cred_access_rules",
        default="",
        help="YAML or JSON file with Keystone access rules, a list of "
        "{service, method, path}: a cluster's application credential is good "
        "for nothing else. Empty: for all that its roles allow.",
    ),
    cfg.IntOpt(
        "app_cred_check_interval",
        default=3600,
        min=0,
        help="Seconds after which a health poll logs in again with a "
        "cluster's own application credential, to see whether it still "
        "works. 0: never.",
    ),
    cfg.IntOpt(
        "app_cred_grace",
        default=600,
        min=0,
        help="Seconds for which a rotated application credential is kept "
        "once a cluster has a new one: its pods have to be restarted, which "
        "the reloader does.",
    ),
    cfg.IntOpt(
        "app_cred_grace_without_reloader",
        default=86400,
        min=0,
        help="The same for a cluster without the reloader, whose users "
        "restart the pods.",
    ),
    cfg.IntOpt(
        "renew_certificates_days",
        default=0,
        min=0,
        max=300,
        help="Renew the certificates of a control plane when they expire "
        "within so many days, by new machines: what `magnum-capi-helm renew` "
        "does, one cluster at a time for each process of magnum-conductor. "
        "Clusters with the label certificates_expiry_days are left to Cluster "
        "API. 0: never.",
    ),
]
