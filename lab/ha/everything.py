# SPDX-License-Identifier: Apache-2.0

"""All that runs in the place of the one-process Magnum, and what it needs."""

from collections.abc import Iterable
import functools

from lab import debian
from lab import magnums
from lab import service
from lab import steps
from lab.ha import magnum
from lab.ha import mariadb
from lab.ha import rabbitmq
from lab.ha import trustees

_PACKAGES = "Debian packages"
_PROGRAMS = {
    "rabbitmq-server": rabbitmq.PROGRAM,
    "mariadb-server": mariadb.PROGRAM,
}
_FOLDER = "MariaDB's folder"
_TABLES = "Magnum's tables"
_TRUSTEES = "domain of trustees"


def services() -> list[service.Service]:
    """All services, in the order of starting."""
    return [mariadb.server(), *rabbitmq.services(), *magnum.services()]


def write() -> None:
    """Write their configuration."""
    rabbitmq.write()
    magnum.write()


def todo(needs: Iterable[str]) -> list[steps.Step]:
    """The steps that have something to do.

    :param needs: what Magnum's programs need of the rest of the lab
    """
    found = []
    if packages := debian.missing(_PROGRAMS):
        install = functools.partial(debian.install, packages)
        found.append(steps.step(_PACKAGES, install))
    if not mariadb.ready():
        found.append(steps.step(_FOLDER, mariadb.make, _PACKAGES))
    database, epmd, broker, *programs = services()
    wanted = [(database, [_FOLDER]), (epmd, [_PACKAGES])]
    wanted.append((broker, [_PACKAGES, epmd.name]))
    before = [*needs, _TABLES, broker.name, _TRUSTEES]
    wanted += [(one, before) for one in programs]
    found += [
        steps.step(one.name, one.start, *names)
        for one, names in wanted
        if not one.running
    ]
    packages_of_magnum, older = _older(needs)
    if not (mariadb.ready() and magnum.tables_ready()):
        names = (database.name, packages_of_magnum)
        found.append(steps.step(_TABLES, magnum.make_tables, *names))
    return found + older


def _older(needs: Iterable[str]) -> tuple[str, list[steps.Step]]:
    """What a Magnum needs that is not the lab's own.

    :returns: the step that installs it, and all steps that are to be done
    """
    release = magnums.other()
    if release is None:
        return "", []
    name = f"Magnum {release.version}"
    found = []
    if not release.ready:
        found.append(steps.step(name, release.install))
    if not trustees.ready():
        found.append(steps.step(_TRUSTEES, trustees.make, *needs))
    return name, found
