# SPDX-License-Identifier: Apache-2.0

"""Checks of Magnum: its database, drivers, templates and service user.

Each check returns the text of its line, or raises an error that says what to
do.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
import pathlib
from typing import Any

from magnum import objects
from magnum.common import exception
from magnum.drivers.common import driver as drivers

from magnum_capi_helm import runtime
from magnum_capi_helm.cli import database_errors
from magnum_capi_helm.cloud import sessions
from magnum_capi_helm.config import conf
from magnum_capi_helm.credentials import application_credential
from magnum_capi_helm.database import rows
from magnum_capi_helm.lifecycle import preview
from magnum_capi_helm.model import errors
from magnum_capi_helm.model import names
from magnum_capi_helm.resolve import requested_labels

_DISABLED = "[drivers] disabled_drivers"
_DEFAULT = "[drivers] default_driver"


class UnreadableError(errors.NotConfigured):
    """Magnum's database can't be read, so its templates are not known."""


def check_database(_rt: runtime.Runtime) -> str:
    """Return where Magnum's database is, after a row of each table was read.

    :raises NotConfigured: it can't be read
    """
    url = database_errors.url()
    scheme, _, path = url.partition("?")[0].partition(":///")
    # SQLite would create the file, and check writes nothing.
    if scheme == "sqlite" and not pathlib.Path(path).is_file():
        raise errors.NotConfigured(
            f"there is no file {path}: set [database] connection"
        )
    database_errors.read(rows.probe)
    return database_errors.location(url)


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
    :raises UnreadableError: the choice depends on Magnum's templates, and its
        database can't be read
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
    :raises UnreadableError: Magnum's database can't be read
    """
    shared = {kind for kinds in rivals.values() for kind in kinds}
    try:
        affected = [
            errors.shown(each.name)
            for each in templates_of_this_driver()
            if not each.driver and _kind(each) in shared
        ]
    except UnreadableError as error:
        raise UnreadableError(
            f"{error}. {_DEFAULT} decides for new templates only: "
            f"{_advice(rivals)}"
        ) from None
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
        f"{names.DRIVER} instead, and make their templates anew"
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
            f"{_DEFAULT} = {configured} is not installed, or it is in "
            f"{_DISABLED}: set it to {names.DRIVER}"
        ) from None
    if configured:
        return f"{configured}, by {_DEFAULT}"
    if default != names.DRIVER:
        raise errors.NotConfigured(
            f"new templates that name no driver get {default}, the first one "
            f"by name: set {_DEFAULT} = {names.DRIVER}"
        )
    return names.DRIVER


def check_template_labels(_: runtime.Runtime) -> str:
    """Return the labels of templates that have no effect, by template.

    :raises NotConfigured: clusters of these templates are refused
    :raises UnreadableError: Magnum's database can't be read
    """
    templates = "; ".join(_labels_without_effect())
    if not templates:
        return "all labels of templates have an effect"
    if conf.CONF.capi_helm.unknown_labels == "reject":
        raise errors.NotConfigured(
            "[capi_helm] unknown_labels = reject refuses clusters of "
            f"templates with labels that have no effect: {templates}"
        )
    return (
        f"accepted without effect: {templates}. `magnum-capi-helm values "
        "--template` says why"
    )


def _labels_without_effect() -> Iterator[str]:
    for template in templates_of_this_driver():
        unused = sorted(requested_labels.without_effect(template.labels or {}))
        if unused:
            name = errors.shown(template.name)
            yield f"template {name} ({', '.join(unused)})"


def templates_of_this_driver() -> list[Any]:
    """Return the templates whose clusters Magnum may give to this driver.

    :raises UnreadableError: Magnum's database can't be read
    """
    try:
        templates = database_errors.read(
            lambda: objects.ClusterTemplate.list(preview.context())
        )
    except errors.NotConfigured as error:
        raise UnreadableError(str(error)) from None
    return [each for each in templates if may_be_of_this_driver(each)]


def may_be_of_this_driver(template: Any) -> bool:
    """Return whether Magnum may give a template's clusters to this driver.

    A template that names no driver counts, even if other drivers provide the
    same kind, or this one is not loaded: 1.4.0 may still run.
    """
    if template.driver:
        return bool(template.driver == names.DRIVER)
    return _kind(template) in {
        _join("vm", each, "kubernetes") for each in names.OS_DISTROS
    }


def check_service_user(_: runtime.Runtime) -> str:
    """Return the scope in which Magnum's service user has the role admin.

    The driver deletes application credentials and server groups of users who
    may be gone. Keystone and Nova let only an administrator do that.

    :raises NotConfigured: the user lacks the role
    :raises CloudError: Keystone refused, or did not answer
    """
    access = sessions.service_access()
    scope, option = _scope(access)
    if any(map(application_credential.is_admin, access.role_names)):
        return f"{access.username} has the role admin in {scope}"
    roles = ", ".join(access.role_names) or "no role"
    raise errors.NotConfigured(
        f"{access.username} has {roles} in {scope}, but not admin, which "
        "deletes what clusters of other users leave in Keystone and Nova: "
        f"'openstack role add --user {access.user_id} {option} admin'"
    )


def _scope(access: Any) -> tuple[str, str]:
    """Return the scope of a token, and the option that names it."""
    if access.project_scoped:
        option = f"--project {access.project_id}"
        return f"project {access.project_name}", option
    if access.domain_scoped:
        return f"domain {access.domain_name}", f"--domain {access.domain_id}"
    if access.system_scoped:
        return "the system", "--system all"
    # Keystone gives a token without a scope no roles.
    return "no project: set [keystone_auth] project_name", "--project PROJECT"
