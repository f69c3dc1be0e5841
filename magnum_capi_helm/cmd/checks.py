# SPDX-License-Identifier: Apache-2.0

"""What ``check`` makes, in which order, and what hangs on what.

Each check is made whatever became of the others, with two exceptions: of a
management cluster that can't be asked, one line says why, and the others say
nothing of their own; so it is with options that no conductor could start with.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
import dataclasses

from magnum_capi_helm import runtime
from magnum_capi_helm.cmd import component_checks
from magnum_capi_helm.cmd import configuration_checks
from magnum_capi_helm.cmd import host_checks
from magnum_capi_helm.cmd import magnum_checks
from magnum_capi_helm.cmd import plane_checks
from magnum_capi_helm.cmd import template_checks
from magnum_capi_helm.model import components
from magnum_capi_helm.model import errors

OK = components.OK
FAILED = components.FAILED
UNKNOWN = components.UNKNOWN
#: In the place of a management cluster's name.
_ALL = "(all)"
_VERSIONS = "versions"
_CONFIGURATION = "configuration"


@dataclasses.dataclass(frozen=True)
class Result:
    """One line: what was looked at, how it is, what was found or to do.

    :param state: one of those of :mod:`components`; only :data:`FAILED` is a
        reason for a create not to work
    """

    name: str
    state: str
    detail: str


@dataclasses.dataclass(frozen=True)
class Check:
    """Something to look at.

    :param look: returns what was found; raises what is wrong, and what to do
    :param asks: whether it asks a management cluster, so each of several
    :param of_several: whether it says something of one of several alone
    :param after: the check without which this one can't be made
    """

    name: str
    look: Callable[[runtime.Runtime], str]
    asks: bool = False
    of_several: bool = False
    after: str = ""


CHECKS = (
    Check("kubeconfig", plane_checks.kubeconfig, asks=True),
    Check("management cluster", plane_checks.management, asks=True),
    Check("clock", plane_checks.clock, asks=True),
    Check("maintenance", plane_checks.maintenance, asks=True),
    Check("permissions", plane_checks.allowed, asks=True),
    Check("new clusters", plane_checks.new_clusters, of_several=True),
    Check("Cluster API", plane_checks.interfaces, asks=True),
    Check("clean-up", plane_checks.cleanup, asks=True),
    Check(_CONFIGURATION, configuration_checks.configuration),
    Check("database", magnum_checks.database),
    Check("driver", magnum_checks.driver_of_templates),
    Check("helm", host_checks.helm),
    Check("chart", host_checks.chart),
    Check("network drivers", host_checks.network_drivers),
    Check("templates", template_checks.labels),
    Check("OpenStack", host_checks.openstack),
    Check("service user", magnum_checks.service_user, after="OpenStack"),
    Check("certificates", host_checks.certificates),
    Check("delivery", host_checks.delivery),
)
_OF_ONE = tuple(each for each in CHECKS if not each.of_several)
_OF_EACH = tuple(each for each in CHECKS if each.asks or each.of_several)
_OF_ALL = tuple(each for each in CHECKS if each not in _OF_EACH)


def run_here() -> Iterator[Result]:
    """All checks of the only management cluster, and of this host."""
    if why := _hindrance():
        yield from _unmade(why, _OF_ONE)
    else:
        yield from run(runtime.get())


def run(rt: runtime.Runtime) -> Iterator[Result]:
    """All checks with the runtime of the only management cluster."""
    found, away = _made(rt, _OF_ONE)
    yield from found
    yield from _running(rt, away)
    yield from _versions(component_checks.on_conductor(rt))


def run_on(names: Sequence[str]) -> Iterator[tuple[str, Result]]:
    """All checks, for each of several management clusters by its name."""
    if why := _hindrance():
        for each in _unmade(why, CHECKS):
            yield _ALL, each
        return
    for name in names:
        rt = runtime.get(name)
        found, away = _made(rt, _OF_EACH)
        for each in (*found, *_running(rt, away)):
            yield name, each
    any_one = runtime.any_one()
    found, _ = _made(any_one, _OF_ALL)
    on_conductor = _versions(component_checks.on_conductor(any_one))
    for each in (*found, *on_conductor):
        yield _ALL, each


def code(results: Iterable[Result]) -> int:
    """Return the exit code: 1 when any check failed."""
    return int(any(each.state == FAILED for each in results))


def _made(
    rt: runtime.Runtime, checks: Sequence[Check]
) -> tuple[list[Result], str]:
    """A line for each; which one found that nothing can be asked, if any."""
    found: list[Result] = []
    away = ""
    for each in checks:
        failed = {line.name for line in found if line.state == FAILED}
        first = away if each.asks else each.after
        if first in failed:
            found.append(_unasked(each.name, first))
            continue
        try:
            found.append(Result(each.name, OK, each.look(rt)))
        except template_checks.UnreadableError as error:
            found.append(Result(each.name, UNKNOWN, str(error)))
        except errors.CapiHelmError as error:
            found.append(Result(each.name, FAILED, str(error)))
            if isinstance(error, plane_checks.NoWayInError):
                away = each.name
        except Exception as error:
            # Whatever it is: the other checks are worth their lines.
            found.append(Result(each.name, FAILED, _words(error)))
    return found, away


def _hindrance() -> str:
    """Why no conductor could start with these options; empty: it could."""
    try:
        runtime.any_one()
    except ValueError as error:
        wrong = configuration_checks.wrong_options()
        return "; ".join(wrong) or _words(error)
    return ""


def _unmade(why: str, checks: Sequence[Check]) -> Iterator[Result]:
    yield Result(_CONFIGURATION, FAILED, why)
    for each in checks:
        if each.name != _CONFIGURATION:
            yield _unasked(each.name, _CONFIGURATION)


def _words(error: Exception) -> str:
    """In one line, what the driver has no words of its own for."""
    text = f"{type(error).__name__}: {error}"
    return str(errors.CapiHelmError(text))


def _unasked(name: str, away: str) -> Result:
    return Result(name, UNKNOWN, f"not looked at: see {away}")


def _running(rt: runtime.Runtime, away: str) -> Iterator[Result]:
    """The versions on a management cluster, if it can be asked."""
    if away:
        yield _unasked(_VERSIONS, away)
        return
    yield from _versions(component_checks.on_management_cluster(rt))


def _versions(found: Iterable[components.Line]) -> Iterator[Result]:
    return (Result(each.name, each.state, each.detail) for each in found)
