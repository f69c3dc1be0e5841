# SPDX-License-Identifier: Apache-2.0

"""What ``check`` looks at on this host, and in its cloud."""

from __future__ import annotations

import os
import re

from magnum_capi_helm import runtime
from magnum_capi_helm.cloud import key_manager
from magnum_capi_helm.cloud import sessions
from magnum_capi_helm.config import conf
from magnum_capi_helm.delivery import sender
from magnum_capi_helm.delivery import settings
from magnum_capi_helm.features import networking
from magnum_capi_helm.helm import packages
from magnum_capi_helm.model import cluster_spec
from magnum_capi_helm.model import errors
from magnum_capi_helm.resolve import requested

_ALLOWED = "kubernetes_allowed_network_drivers"
_DEFAULT = "kubernetes_default_network_driver"
#: Magnum's own default, in the place of which the driver takes another one.
_FLANNEL = "flannel"
#: The oldest that the driver was tried with.
_OLDEST_HELM = (3, 16)
_NUMBERS = re.compile(r"v?(\d+)\.(\d+)")


def helm(rt: runtime.Runtime) -> str:
    """It can be started, and is not too old."""
    found = rt.helm.version()
    numbers = _NUMBERS.match(found)
    if numbers and tuple(map(int, numbers.groups())) < _OLDEST_HELM:
        raise errors.NotConfigured(
            f"helm {found} is too old: install helm "
            f"{'.'.join(map(str, _OLDEST_HELM))} or later on the PATH of "
            "magnum-conductor"
        )
    return found


def chart(rt: runtime.Runtime) -> str:
    """Return where the chart of new clusters is, or where it would go.

    It writes nothing but a temporary directory, which it removes.

    :raises ChartUnavailable: the chart is damaged, or its source lacks it
    :raises NotConfigured: this user can't write the chart store
    """
    wanted = requested.default_chart()
    if path := rt.charts.find(wanted):
        return _read(path, wanted)
    place = rt.charts.place()
    rt.charts.check_source(wanted)
    found = (
        f"{wanted.name} {wanted.version} can be fetched from "
        f"{wanted.repository or wanted.name}, and goes to {place}"
    )
    if os.geteuid() == 0:
        found += (
            "; root runs this check: run it as magnum-conductor's user to "
            "see whether that user can write there"
        )
    return found


def _read(path: str, wanted: cluster_spec.Chart) -> str:
    """Return the path if the chart there can be used.

    An operator may have put it there by hand.

    :raises ChartUnavailable: it can't be used
    """
    try:
        found = packages.read(path)
    except errors.ChartUnavailable as error:
        raise errors.ChartUnavailable(
            f"{error}: remove it to have it fetched anew, or put a good one "
            "there"
        ) from error
    if found.version.removeprefix("v") != wanted.version.removeprefix("v"):
        raise errors.ChartUnavailable(
            f"{path} has the chart {found.name} {found.version}: remove it, "
            "or put the right one there"
        )
    return path


def network_drivers(_: runtime.Runtime) -> str:
    """Magnum lets templates have those that the chart has."""
    options = conf.CONF.cluster_template
    names = list(getattr(options, _ALLOWED))
    default = str(getattr(options, _DEFAULT))
    every = "all" in names
    usable = [each for each in networking.CNIS if every or each in names]
    set_to = f"[cluster_template] {_ALLOWED} = {','.join(names)}"
    if not usable:
        raise errors.NotConfigured(
            f"{set_to}: Magnum refuses templates with "
            f"{' or '.join(networking.CNIS)}, all that the chart has: set it "
            f"to {','.join(networking.CNIS)}"
        )
    if not every and default not in names:
        raise errors.NotConfigured(
            f"{set_to} is without {default}, which Magnum takes for "
            f"templates that name none, and refuses: set {_DEFAULT} to "
            f"{usable[0]}"
        )
    taken = networking.CNIS[0] if default == _FLANNEL else default
    if taken not in networking.CNIS:
        raise errors.NotConfigured(
            f"[cluster_template] {_DEFAULT} = {default}, which the driver "
            f"refuses: set it to {usable[0]}"
        )
    return f"{' or '.join(usable)}; {taken} where a template names none"


def openstack(_: runtime.Runtime) -> str:
    """Magnum's service user can log in."""
    user = sessions.authenticate(sessions.service_session())
    return f"authenticated as user {user}"


def certificates(_: runtime.Runtime) -> str:
    """The store of certificates takes one."""
    store = str(conf.CONF.certificates.cert_manager_type)
    if store != "barbican":
        return store
    return f"barbican at {key_manager.probe(sessions.service_session())}"


def delivery(_: runtime.Runtime) -> str:
    """The receiver of kubeconfigs is there, and nothing is sent."""
    if not settings.enabled():
        return "off"
    options = settings.read()
    sender.probe(options)
    return f"of the user {options.user.kind} to {options.receiver}"
