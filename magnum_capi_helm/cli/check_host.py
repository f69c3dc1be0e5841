# SPDX-License-Identifier: Apache-2.0

"""Checks of a conductor's host: configuration, Magnum, chart and cloud.

Each check returns the text of its line, or raises an error that says what to
do.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from magnum import objects
from magnum.common import exception
from magnum.drivers.common import driver as drivers
from oslo_config import cfg

from magnum_capi_helm import delivery
from magnum_capi_helm import runtime
from magnum_capi_helm.cli import base
from magnum_capi_helm.cloud import certificates
from magnum_capi_helm.cloud import sessions
from magnum_capi_helm.config import conf
from magnum_capi_helm.credentials import application_credential
from magnum_capi_helm.database import rows
from magnum_capi_helm.features import audit
from magnum_capi_helm.features import networking
from magnum_capi_helm.model import components
from magnum_capi_helm.model import errors
from magnum_capi_helm.model import labels
from magnum_capi_helm.model import names
from magnum_capi_helm.model import versions
from magnum_capi_helm.resolve import operator_files
from magnum_capi_helm.resolve import requested_labels

CONFIGURATION = "configuration"

_ALLOWED = "kubernetes_allowed_network_drivers"
_DEFAULT = "kubernetes_default_network_driver"
#: Magnum's own default, which the driver replaces.
_FLANNEL = "flannel"
#: The oldest version that the driver was tested with.
OLDEST_HELM = (3, 16, 0)
_DISABLED = "[drivers] disabled_drivers"
_DEFAULT_DRIVER = "[drivers] default_driver"


def check_configuration(_: runtime.Runtime) -> str:
    """Return the configuration files that were read.

    Options and files are read as a create reads them.

    :raises NotConfigured: there is none, or an option has an invalid value
    """
    # What reads the files would raise if an option had a wrong type.
    problems = list(wrong_options()) or list(_refusals())
    problems += conf.unknown_options()
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
    number = versions.number(version)
    if number and number < OLDEST_HELM:
        raise errors.NotConfigured(
            f"helm {version} is too old: install helm 3.16 or later on the "
            "PATH of magnum-conductor"
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
        return path
    place = rt.charts.place()
    rt.charts.check_source(chart)
    return (
        f"{chart.name} {chart.version} can be fetched from "
        f"{chart.repository or chart.name}, and will be stored in {place}"
    )


def check_network_drivers(_: runtime.Runtime) -> str:
    """Check that Magnum allows the network drivers that the chart has."""
    options = conf.CONF.cluster_template
    names = list(getattr(options, _ALLOWED))
    default = str(getattr(options, _DEFAULT))
    usable = [each for each in networking.CNIS if {each, "all"} & {*names}]
    effective = networking.CNIS[0] if default == _FLANNEL else default
    if usable and {default, "all"} & {*names} and effective in networking.CNIS:
        return f"{' or '.join(usable)}; the default is {effective}"
    raise errors.NotConfigured(
        f"[cluster_template] {_ALLOWED} = {','.join(names)}, {_DEFAULT} = "
        f"{default}: Magnum or the driver refuses templates: allow "
        f"{' or '.join(networking.CNIS)}, which the chart has, and choose "
        "the default among these"
    )


# Magnum


def check_database(_rt: runtime.Runtime) -> str:
    """Return where Magnum's database is, after a row of each table was read.

    :raises NotConfigured: it can't be read
    """
    base.read_database(rows.probe)
    return base.database_location(base.database_url())


def check_driver(_: runtime.Runtime) -> str:
    """Return which driver Magnum gives templates that name none.

    Before Magnum 23 a template has a driver only if its image has the
    property magnum_driver. Since Magnum 23 each new template has one: that of
    the property, ``[drivers] default_driver``, or the first enabled driver by
    name (``Driver.get_default_driver``). For a template that has none, each
    Magnum takes the driver that provides its server type, image and COE, and
    of several the one that it loads last (``Driver.get_drivers``).

    :raises NotConfigured: they get another driver, or Magnum's choice is
        left to chance
    :raises UndeterminedError: the choice depends on Magnum's templates, and
        its database can't be read
    """
    provided = _provided()
    if names.DRIVER not in provided:
        raise errors.NotConfigured(
            f"Magnum does not load {names.DRIVER}: take it out of "
            f"{_DISABLED}, or install the driver into Magnum's own Python "
            "environment"
        )
    rivals = _rivals(provided)
    if not hasattr(drivers.Driver, "get_default_driver"):
        if rivals:
            raise errors.NotConfigured(_advice(rivals))
        return names.DRIVER
    default = _default_driver()
    if rivals:
        _check_old_templates(rivals)
    return default


def _provided() -> dict[str, frozenset[str]]:
    """Return the kinds of templates that each enabled driver provides.

    :returns: by name of the driver, each kind as server_type/os/coe
    """
    return {
        point.name: frozenset(
            _join(each["server_type"], each["os"], each["coe"])
            for each in driver().provides
        )
        for point, driver in drivers.Driver.load_entry_points()
    }


def _join(*words: Any) -> str:
    return "/".join(map(str, words))


def _kind(template: Any) -> str:
    """Return the kind of a template, as server_type/os/coe."""
    return _join(template.server_type, template.cluster_distro, template.coe)


def _rivals(provided: Mapping[str, frozenset[str]]) -> dict[str, list[str]]:
    """Return the other drivers, with the kinds that this one provides too."""
    ours = provided[names.DRIVER]
    return {
        name: sorted(kinds & ours)
        for name, kinds in sorted(provided.items())
        if name != names.DRIVER and kinds & ours
    }


def _check_old_templates(rivals: Mapping[str, list[str]]) -> None:
    """Refuse templates of Magnum 22 and older that rivals may get.

    :raises NotConfigured: there are such templates
    :raises UndeterminedError: Magnum's database can't be read
    """
    shared = {kind for kinds in rivals.values() for kind in kinds}
    affected = [
        errors.shown(each.name)
        for each in templates_of_this_driver()
        if not each.driver and _kind(each) in shared
    ]
    if affected:
        named = f" ({', '.join(affected)})"
        raise errors.NotConfigured(_advice(rivals, named))


def _advice(rivals: Mapping[str, list[str]], templates: str = "") -> str:
    """Return what to do about rivals.

    :param templates: names of those that rivals may get, in parentheses;
        empty: not known
    """
    claims = "; ".join(
        f"{name} provides {' and '.join(shared)}, too"
        for name, shared in rivals.items()
    )
    disabled = sorted({*conf.CONF.drivers.disabled_drivers, *rivals})
    return (
        f"{claims}, and Magnum takes the driver that it loads last for "
        f"templates that name no driver{templates}: set {_DISABLED} = "
        f"{','.join(disabled)}. Do not disable a driver that has clusters: "
        "give the images of this driver the property magnum_driver = "
        f"{names.DRIVER} instead, and create their templates again"
    )


def _default_driver() -> str:
    """Return the driver that Magnum 23 gives new templates.

    :raises NotConfigured: it is another one by chance, or not installed
    """
    configured = conf.CONF.drivers.default_driver
    try:
        default = drivers.Driver.get_default_driver()
    except exception.ClusterDriverNotSupported:
        raise errors.NotConfigured(
            f"{_DEFAULT_DRIVER} = {configured} is not installed, or it is in "
            f"{_DISABLED}: set it to {names.DRIVER}"
        ) from None
    if configured:
        return f"{configured}, by {_DEFAULT_DRIVER}"
    if default != names.DRIVER:
        raise errors.NotConfigured(
            f"new templates that name no driver get {default}, the first one "
            f"by name: set {_DEFAULT_DRIVER} = {names.DRIVER}"
        )
    return names.DRIVER


def check_template_labels(_: runtime.Runtime) -> str:
    """Return the labels that have no effect, by template.

    :raises NotConfigured: clusters of these templates are refused
    :raises UndeterminedError: Magnum's database can't be read
    """
    unused = "; ".join(
        f"template {errors.shown(each.name)} ({', '.join(sorted(lost))})"
        for each in templates_of_this_driver()
        if (lost := requested_labels.without_effect(each.labels or {}))
    )
    if unused and conf.CONF.capi_helm.unknown_labels == "reject":
        raise errors.NotConfigured(
            "[capi_helm] unknown_labels = reject refuses clusters of "
            f"templates with labels that have no effect: {unused}"
        )
    return f"labels without effect: {unused or 'none'}"


def templates_of_this_driver() -> list[Any]:
    """Return the templates whose clusters Magnum may give to this driver.

    :raises UndeterminedError: Magnum's database can't be read
    """
    try:
        templates = base.read_database(
            lambda: objects.ClusterTemplate.list(rows.everywhere())
        )
    except errors.NotConfigured as error:
        raise components.UndeterminedError(str(error)) from None
    return [each for each in templates if may_be_of_this_driver(each)]


def may_be_of_this_driver(template: Any) -> bool:
    """Return whether Magnum may give a template's clusters to this driver.

    A template that names no driver counts, even if other drivers provide the
    same kind, or this one is not loaded: 1.4.0 may still run.
    """
    if template.driver:
        return bool(template.driver == names.DRIVER)
    return _kind(template) in {
        _join("vm", each, "kubernetes") for each in names.DISTROS
    }


# OpenStack


def check_certificate_store(_: runtime.Runtime) -> str:
    """Check that the store of certificates answers."""
    store = str(conf.CONF.certificates.cert_manager_type)
    if store != "barbican":
        return store
    return f"barbican at {certificates.probe_barbican()}"


def check_delivery(_: runtime.Runtime) -> str:
    """Check the receiver of kubeconfigs; nothing is sent."""
    if not conf.delivery_enabled():
        return "off"
    settings = conf.delivery()
    delivery.probe(settings)
    return f"kubeconfigs of {settings.user} to {settings.receiver}"


def check_service_user(_: runtime.Runtime) -> str:
    """Check that Magnum's service user can log in, and has the role admin.

    The driver deletes application credentials and server groups of users who
    may be gone. Keystone and Nova let only an administrator do that.

    :raises NotConfigured: the user lacks the role
    :raises CloudError: Keystone refused, or did not answer
    """
    access = sessions.service_access()
    if any(map(application_credential.is_admin, access.role_names)):
        return f"{access.username} has the role admin"
    # Keystone gives a token without a scope no roles.
    roles = ", ".join(access.role_names) or "no role"
    raise errors.NotConfigured(
        f"{access.username} has {roles}, but not admin, which is needed to "
        "delete what clusters of other users leave in Keystone and Nova: set "
        "[keystone_auth] project_name, and run 'openstack role add --user "
        f"{access.user_id} --project {access.project_id or 'PROJECT'} admin'"
    )


#: Checks of this host and the cloud, by name, in their order.
CHECKS: Mapping[str, Callable[[runtime.Runtime], str]] = {
    CONFIGURATION: check_configuration,
    "database": check_database,
    "driver": check_driver,
    "helm": check_helm,
    "chart": check_chart,
    "network drivers": check_network_drivers,
    "templates": check_template_labels,
    "service user": check_service_user,
    "certificates": check_certificate_store,
    "delivery": check_delivery,
}
