# SPDX-License-Identifier: Apache-2.0

"""Check Magnum itself: its database, its drivers and its service user."""

from __future__ import annotations

from collections.abc import Mapping
import pathlib
from typing import Any

from magnum.common import exception
from magnum.drivers.common import driver as drivers

from magnum_capi_helm import driver
from magnum_capi_helm import runtime
from magnum_capi_helm.cloud import sessions
from magnum_capi_helm.cmd import database as database_errors
from magnum_capi_helm.cmd import template_checks
from magnum_capi_helm.config import conf
from magnum_capi_helm.credentials import making
from magnum_capi_helm.database import queries
from magnum_capi_helm.model import errors
from magnum_capi_helm.model import names

_DISABLED = "[drivers] disabled_drivers"
_DEFAULT = "[drivers] default_driver"


def database(_rt: runtime.Runtime) -> str:
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
    database_errors.read(queries.probe)
    return database_errors.location(url)


def driver_of_templates(_: runtime.Runtime) -> str:
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
    provided = {
        point.name: template_checks.provided(kind())
        for point, kind in drivers.Driver.load_entry_points()
    }
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


def _rivals(provided: Mapping[str, frozenset[str]]) -> dict[str, list[str]]:
    """Return the other drivers, with what they provide of this one's."""
    ours = template_checks.provided(driver.Driver())
    return {
        name: sorted(found & ours)
        for name, found in sorted(provided.items())
        if name != names.DRIVER and found & ours
    }


def _check_old_templates(rivals: Mapping[str, list[str]]) -> None:
    """Refuse templates of Magnum 22 and older that rivals may get.

    :raises NotConfigured: there are such templates
    :raises UnreadableError: Magnum's database can't be read
    """
    shared = {kind for kinds in rivals.values() for kind in kinds}
    try:
        found = [
            errors.shown(each.name)
            for each in template_checks.of_this_driver()
            if not each.driver and template_checks.kind(each) in shared
        ]
    except template_checks.UnreadableError as error:
        raise template_checks.UnreadableError(
            f"{error}. {_DEFAULT} decides for new templates only: "
            f"{_advice(rivals)}"
        ) from None
    if found:
        named = f" ({', '.join(found)})"
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
        found = drivers.Driver.get_default_driver()
    except exception.ClusterDriverNotSupported:
        raise errors.NotConfigured(
            f"{_DEFAULT} = {configured} is not installed, or it is in "
            f"{_DISABLED}: set it to {names.DRIVER}"
        ) from None
    if configured:
        return f"{configured}, by {_DEFAULT}"
    if found != names.DRIVER:
        raise errors.NotConfigured(
            f"new templates that name no driver get {found}, the first one "
            f"by name: set {_DEFAULT} = {names.DRIVER}"
        )
    return names.DRIVER


def service_user(_: runtime.Runtime) -> str:
    """Return the scope in which Magnum's service user has the role admin.

    The driver deletes application credentials and server groups of users who
    may be gone. Keystone and Nova let only an administrator do that.

    :raises NotConfigured: the user lacks the role
    :raises CloudError: Keystone refused, or did not answer
    """
    found = sessions.service_access()
    scope, option = _scope(found)
    if any(map(making.is_admin, found.role_names)):
        return f"{found.username} has the role admin in {scope}"
    roles = ", ".join(found.role_names) or "no role"
    raise errors.NotConfigured(
        f"{found.username} has {roles} in {scope}, but not admin, which "
        "deletes what clusters of other users leave in Keystone and Nova: "
        f"'openstack role add --user {found.user_id} {option} admin'"
    )


def _scope(found: Any) -> tuple[str, str]:
    """Return the scope of a token, and the option that names it."""
    if found.project_scoped:
        option = f"--project {found.project_id}"
        return f"project {found.project_name}", option
    if found.domain_scoped:
        return f"domain {found.domain_name}", f"--domain {found.domain_id}"
    if found.system_scoped:
        return "the system", "--system all"
    # Keystone gives a token without a scope no roles.
    return "no project: set [keystone_auth] project_name", "--project PROJECT"
