# SPDX-License-Identifier: Apache-2.0

"""Checks of the configuration, of this host and of its cloud.

Each check returns the text of its line, or raises an error that says what to
do.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
import os
import re

from oslo_config import cfg

from magnum_capi_helm import delivery
from magnum_capi_helm import runtime
from magnum_capi_helm.cloud import keystone
from magnum_capi_helm.cloud import sessions
from magnum_capi_helm.config import conf
from magnum_capi_helm.config import delivery as delivery_config
from magnum_capi_helm.credentials import application_credential
from magnum_capi_helm.features import audit
from magnum_capi_helm.features import networking
from magnum_capi_helm.helm import packages
from magnum_capi_helm.model import cluster_spec
from magnum_capi_helm.model import errors
from magnum_capi_helm.model import labels
from magnum_capi_helm.resolve import operator_files
from magnum_capi_helm.resolve import requested_labels

_ALLOWED = "kubernetes_allowed_network_drivers"
_DEFAULT = "kubernetes_default_network_driver"
#: Magnum's own default, which the driver replaces.
_FLANNEL = "flannel"
#: The oldest version that the driver was tested with.
_OLDEST_HELM = (3, 16)
_NUMBERS = re.compile(r"v?(\d+)\.(\d+)")


def check_configuration(_: runtime.Runtime) -> str:
    """Return the configuration files that were read.

    Options and files are read as a create reads them.

    :raises NotConfigured: there is none, or an option has an invalid value
    """
    # Files named by options can't be read while an option is no number.
    problems = list(wrong_options()) or list(_refusals())
    files = conf.files()
    if not files:
        problems.append(conf.NO_FILES)
    if problems:
        raise errors.NotConfigured("; ".join(problems))
    return ", ".join(files)


def wrong_options() -> Iterator[str]:
    """Yield the options whose values have the wrong type.

    Some options are read by no code before a create, which would then fail.
    """
    for group, options in conf.ALL_OPTS.items():
        for each in options:
            try:
                getattr(conf.CONF[group.name], each.dest)
            except cfg.ConfigFileValueError as error:
                why = str(error).rpartition(" is not valid: ")[2]
                yield f"[{group.name}] {each.name}: {why}"


def _refusals() -> Iterator[str]:
    """Yield why a cluster with the operator's defaults would be refused."""
    # Any template may ask for auditing.
    audited = {**conf.label_defaults(), audit.ENABLED.name: True}
    values = labels.Values(audited)
    reads: tuple[Callable[[], object], ...] = (
        lambda: operator_files.site(values),
        lambda: operator_files.apply_overlays({}, values),
        application_credential.access_rules,
    )
    for read in reads:
        try:
            read()
        except errors.CapiHelmError as error:
            yield str(error)


def check_helm(rt: runtime.Runtime) -> str:
    """Check that helm can be started, and is not too old."""
    version = rt.helm.version()
    numbers = _NUMBERS.match(version)
    if numbers and tuple(map(int, numbers.groups())) < _OLDEST_HELM:
        raise errors.NotConfigured(
            f"helm {version} is too old: install helm "
            f"{'.'.join(map(str, _OLDEST_HELM))} or later on the PATH of "
            "magnum-conductor"
        )
    return version


def check_chart(rt: runtime.Runtime) -> str:
    """Return where the chart of new clusters is, or where it would go.

    It writes nothing but a temporary directory, which it removes.

    :raises ChartUnavailable: the chart is damaged, or its source lacks it
    :raises NotConfigured: this user can't write the chart store
    """
    chart = requested_labels.default_chart()
    if path := rt.charts.find(chart):
        _check_stored_chart(path, chart)
        return path
    place = rt.charts.place()
    rt.charts.check_source(chart)
    text = (
        f"{chart.name} {chart.version} can be fetched from "
        f"{chart.repository or chart.name}, and goes to {place}"
    )
    if os.geteuid() == 0:
        text += (
            "; root runs this check: run it as magnum-conductor's user to "
            "see whether that user can write there"
        )
    return text


def _check_stored_chart(path: str, chart: cluster_spec.Chart) -> None:
    """Check a file of the store, which an operator may have put there.

    :raises ChartUnavailable: it can't be used
    """
    try:
        stored = packages.read(path)
    except errors.ChartUnavailable as error:
        raise errors.ChartUnavailable(
            f"{error}: remove it to have it fetched anew, or put a good one "
            "there"
        ) from error
    if stored.version.removeprefix("v") != chart.version.removeprefix("v"):
        raise errors.ChartUnavailable(
            f"{path} has the chart {stored.name} {stored.version}: remove it, "
            "or put the right one there"
        )


def check_network_drivers(_: runtime.Runtime) -> str:
    """Check that Magnum allows the network drivers that the chart has."""
    options = conf.CONF.cluster_template
    names = list(getattr(options, _ALLOWED))
    default = str(getattr(options, _DEFAULT))
    all_allowed = "all" in names
    usable = [each for each in networking.CNIS if all_allowed or each in names]
    set_to = f"[cluster_template] {_ALLOWED} = {','.join(names)}"
    if not usable:
        raise errors.NotConfigured(
            f"{set_to}: Magnum refuses templates with "
            f"{' or '.join(networking.CNIS)}, all that the chart has: set it "
            f"to {','.join(networking.CNIS)}"
        )
    if not all_allowed and default not in names:
        raise errors.NotConfigured(
            f"{set_to} is without {default}, which Magnum takes for "
            f"templates that name none, and refuses: set {_DEFAULT} to "
            f"{usable[0]}"
        )
    effective = networking.CNIS[0] if default == _FLANNEL else default
    if effective not in networking.CNIS:
        raise errors.NotConfigured(
            f"[cluster_template] {_DEFAULT} = {default}, which the driver "
            f"refuses: set it to {usable[0]}"
        )
    return f"{' or '.join(usable)}; {effective} where a template names none"


def check_openstack(_: runtime.Runtime) -> str:
    """Check that Magnum's service user can log in."""
    return f"authenticated as user {sessions.service_access().user_id}"


def check_certificate_store(_: runtime.Runtime) -> str:
    """Check that the store of certificates answers."""
    store = str(conf.CONF.certificates.cert_manager_type)
    if store != "barbican":
        return store
    return f"barbican at {keystone.probe(sessions.service_session())}"


def check_delivery(_: runtime.Runtime) -> str:
    """Check the receiver of kubeconfigs; nothing is sent."""
    if not delivery_config.enabled():
        return "off"
    settings = delivery_config.read()
    delivery.probe(settings)
    return f"of the user {settings.user} to {settings.receiver}"
