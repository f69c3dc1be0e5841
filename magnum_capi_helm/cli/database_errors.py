# SPDX-License-Identifier: Apache-2.0

"""Report in one line why Magnum's database can't be read."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from magnum_capi_helm.model import errors

_Answer = TypeVar("_Answer")

_LIBRARIES = frozenset({"oslo_db", "sqlalchemy"})

_TABLES = (
    "it lacks tables or columns of this Magnum: run 'magnum-db-manage "
    "upgrade', with the same configuration"
)
_GONE = "there is no such database: create it, or correct the URL"
_REFUSED = "it refuses the user or the password"
_SILENT = "it does not answer"
_URL = "SQLAlchemy can't use this URL"
#: By name of the exception, or by error code: MySQL's number or PostgreSQL's
#: SQLSTATE. oslo.db leaves many of the errors of both as they are.
_CAUSES = {
    "ArgumentError": _URL,
    "CantStartEngineError": _URL,
    "DBConnectionError": _SILENT,
    "DBNonExistentDatabase": _GONE,
    "DBNonExistentTable": _TABLES,
    "NoSuchModuleError": _URL,
    "1044": _REFUSED,
    "1045": _REFUSED,
    "1049": _GONE,
    "1054": _TABLES,
    "1146": _TABLES,
    "28000": _REFUSED,
    "28P01": _REFUSED,
    "3D000": _GONE,
    "42703": _TABLES,
    "42P01": _TABLES,
}
_UNKNOWN = (
    "see whether the database answers there, and whether it has the tables "
    "of this Magnum"
)


def is_database_error(error: Exception) -> bool:
    """Return whether oslo.db or SQLAlchemy defines the error's class.

    Both libraries are large, so this module does not import them: their
    modules are known by name.
    """
    return any(
        each.__module__.partition(".")[0] in _LIBRARIES
        for each in type(error).__mro__
    )


def read(ask: Callable[[], _Answer]) -> _Answer:
    """Call a function that reads Magnum's database.

    :raises NotConfigured: the database can't be read. The error is not
        chained, as it would be from a context manager: the database's own
        error quotes SQL, its parameters and the URL
    """
    try:
        return ask()
    except Exception as error:
        if not is_database_error(error):
            raise
        message = describe(error, url())
    raise errors.NotConfigured(message)


def url() -> str:
    """Return ``[database] connection``."""
    # A command that needs it has loaded Magnum's configuration already.
    import magnum.conf

    return str(magnum.conf.CONF.database.connection or "")


def describe(error: Exception, url: str) -> str:
    """Return the cause in one line, without the password.

    The error's own text is left out: it quotes SQL and the URL.

    :param error: for which :func:`is_database_error` is true
    :param url: ``[database] connection``
    """
    name = type(error).__name__
    code = _code(error)
    cause = _CAUSES.get(code) or _CAUSES.get(name) or _UNKNOWN
    shown = " ".join(filter(None, (name, code)))
    place = location(url)
    named = f"[database] connection {place}".rstrip()
    return f"Magnum's database can't be read ({shown}): {named}: {cause}"


def _code(error: Exception) -> str:
    """Return the database's own error code; empty: there is none."""
    inner = getattr(error, "inner_exception", None) or error
    original = getattr(inner, "orig", None)
    state = getattr(original, "pgcode", None)
    number = next(iter(getattr(original, "args", ())), None)
    return str(state or (number if isinstance(number, int) else ""))


def location(url: str) -> str:
    """Return a database's URL without user, password and parameters.

    Empty, where it is not certain which part is the password.
    """
    scheme, separator, rest = url.partition("://")
    _, sign, host = rest.rpartition("@")
    if not separator or not (sign or scheme.startswith("sqlite")):
        return ""
    return f"{scheme}://{host.partition('?')[0]}"
