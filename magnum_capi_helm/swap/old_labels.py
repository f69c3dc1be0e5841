# SPDX-License-Identifier: Apache-2.0

"""The labels that 1.4.0 reads, and what it makes of them.

From its ``conf.py`` and the methods ``_label`` to ``_get_label_csv`` of its
driver. It refuses no value: it takes characters out, or takes the default.
"""

from __future__ import annotations

import re

from magnum_capi_helm.swap import evidence

#: Read from the template alone.
CHART = "capi_helm_chart_version"

#: Label -> what 1.4.0 takes where neither label nor option says anything.
_DEFAULTS: dict[str, str] = {
    "api_master_lb_allowed_cidrs": "",
    "auto_healing_enabled": "true",
    "auto_scaling_enabled": "false",
    "boot_volume_size": "",
    "boot_volume_type": "",
    "csi_cinder_allow_volume_expansion": "true",
    "csi_cinder_availability_zone": "nova",
    "csi_cinder_fstype": "ext4",
    "csi_cinder_reclaim_policy": "Retain",
    "csi_cinder_volume_binding_mode": "WaitForFirstConsumer",
    "etcd_blockdevice_size": "0",
    "etcd_blockdevice_type": "volume",
    "etcd_blockdevice_volume_az": "",
    "etcd_blockdevice_volume_type": "",
    "etcd_volume_size": "",
    "etcd_volume_type": "",
    "extra_network_name": "",
    "extra_network_names": "",
    "fixed_subnet_cidr": "10.0.0.0/24",
    "keystone_auth_enabled": "false",
    "kube_dashboard_enabled": "true",
    "master_lb_floating_ip_enabled": "true",
    "max_node_count": "",
    "min_node_count": "",
    "monitoring_enabled": "false",
    "octavia_lb_algorithm": "",
    "octavia_lb_healthcheck": "true",
    "octavia_provider": "amphora",
}
#: Labels that it reads.
READ = frozenset({*_DEFAULTS, CHART})

#: As oslo.utils' ``bool_from_string``; any other text is the default.
_TRUE = frozenset({"1", "t", "true", "on", "y", "yes"})
_FALSE = frozenset({"0", "f", "false", "off", "n", "no"})


class Labels:
    """The labels of a cluster, as it reads them: the cluster's win."""

    def __init__(
        self, subject: evidence.Subject, options: evidence.Options
    ) -> None:
        self._given = {**subject.template.labels, **subject.labels}
        self._options = options.labels

    def given(self, name: str) -> bool:
        """Whether template or cluster say it, whatever the options say."""
        return name in self._given

    def text(self, name: str, fallback: str = "") -> str:
        """With what it does not like taken out.

        :param fallback: where nothing says anything
        """
        if name in self._given:
            return re.sub(r"[^a-zA-Z0-9.\-/ _]+", "", self._given[name])
        return self._default(name) or fallback

    def flag(self, name: str) -> bool:
        """A switch."""
        text = self._given.get(name, "").strip().lower()
        if text in _TRUE | _FALSE:
            return text in _TRUE
        return self._default(name).lower() in _TRUE

    def number(self, name: str, fallback: int | None = None) -> int | None:
        """A count; what is no number counts as not given."""
        for text in (self.text(name), self._default(name)):
            try:
                return int(text)
            except ValueError:
                continue
        return fallback

    def cidrs(self) -> list[str]:
        """The allow list of the API."""
        name = "api_master_lb_allowed_cidrs"
        raw = self._given.get(name) or self._default(name)
        return [
            re.sub(r"[^a-zA-Z0-9.\-/:]+", "", each)
            for each in raw.split(",")
            if each.strip()
        ]

    def _default(self, name: str) -> str:
        found = self._options.get(name)
        if found is None or found == "" or found == ():
            return _DEFAULTS[name]
        if isinstance(found, list | tuple):
            return ("," if "cidrs" in name else " ").join(map(str, found))
        return str(found)
