# SPDX-License-Identifier: Apache-2.0

"""Run the checks of ``magnum-capi-helm check``."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
import dataclasses

from magnum_capi_helm import runtime
from magnum_capi_helm.cli import check_host
from magnum_capi_helm.cli import check_management_cluster as management
from magnum_capi_helm.model import components
from magnum_capi_helm.model import errors

#: Instead of a management cluster's name.
_ALL = "(all)"
_CONFIGURATION = "configuration"


@dataclasses.dataclass(frozen=True)
class Check:
    """A check of one subject.

    :param look: returns the text of the line, or several lines; raises an
        error with advice
    :param asks: it asks a management cluster, so it runs for each of several
    :param of_several: it runs only if there are several
    :param after: the check that has to succeed before this one
    """

    name: str
    look: Callable[[runtime.Runtime], str | Iterable[components.Result]]
    asks: bool = False
    of_several: bool = False
    after: str = ""


CHECKS = (
    Check("kubeconfig", management.check_kubeconfig, asks=True),
    Check("management cluster", management.check_identity, asks=True),
    Check("clock", management.check_clock, asks=True),
    Check("maintenance", management.check_maintenance, asks=True),
    Check("permissions", management.check_permissions, asks=True),
    Check("new clusters", management.describe_placement, of_several=True),
    Check("Cluster API", management.check_api_versions, asks=True),
    Check("clean-up", management.describe_cleanup, asks=True),
    Check(_CONFIGURATION, check_host.check_configuration),
    Check("database", check_host.check_database),
    Check("driver", check_host.check_driver),
    Check("helm", check_host.check_helm),
    Check("chart", check_host.check_chart),
    Check("network drivers", check_host.check_network_drivers),
    Check("templates", check_host.check_template_labels),
    Check("OpenStack", check_host.check_openstack),
    Check("service user", check_host.check_service_user, after="OpenStack"),
    Check("certificates", check_host.check_certificate_store),
    Check("delivery", check_host.check_delivery),
    Check("versions", management.component_versions, asks=True),
    Check("helm version", management.helm_version, after="helm"),
)
_OF_ONE = tuple(each for each in CHECKS if not each.of_several)
_OF_EACH = tuple(each for each in CHECKS if each.asks or each.of_several)
_OF_ALL = tuple(each for each in CHECKS if each not in _OF_EACH)


def run(names: Sequence[str]) -> Iterator[tuple[str, components.Result]]:
    """Run all checks; yield each with its management cluster's name.

    :param names: of the management clusters; an empty one is the only one
    :raises NotConfigured: there is none of that name
    """
    rounds = [("", _OF_ONE)]
    if list(names) != [""]:
        rounds = [*((name, _OF_EACH) for name in names), (_ALL, _OF_ALL)]
    if problem := _configuration_problem():
        place = rounds[-1][0]
        for each in CHECKS if place else _OF_ONE:
            state, detail = components.UNKNOWN, _skipped(_CONFIGURATION)
            if each.name == _CONFIGURATION:
                state, detail = components.FAILED, problem
            yield place, components.Result(each.name, state, detail)
        return
    for name, part in rounds:
        rt = runtime.any_one() if name == _ALL else runtime.get(name)
        for result in _run(rt, part):
            yield name, result


def _run(
    rt: runtime.Runtime, checks: Sequence[Check]
) -> list[components.Result]:
    """Run checks in their order.

    When the management cluster can't be asked, checks that ask it are
    skipped, and name the check that failed.
    """
    results: list[components.Result] = []
    failed = set()
    unreachable = ""
    for each in checks:
        needed = unreachable if each.asks else each.after
        try:
            if needed in failed:
                raise check_host.UndeterminedError(_skipped(needed))
            answer = each.look(rt)
            if not isinstance(answer, str):
                results += answer
                continue
            state, detail = components.OK, answer
        except check_host.UndeterminedError as error:
            state, detail = components.UNKNOWN, str(error)
        except Exception as error:
            # An unexpected error must not hide the results of other checks.
            state, detail = components.FAILED, _one_line(error)
            failed.add(each.name)
            if isinstance(error, management.NoWayInError):
                unreachable = each.name
        results.append(components.Result(each.name, state, detail))
    return results


def _configuration_problem() -> str:
    """Return why no conductor can start with these options, or ""."""
    try:
        runtime.any_one()
    except ValueError as error:
        return "; ".join(check_host.wrong_options()) or _one_line(error)
    return ""


def _skipped(needed: str) -> str:
    return f"not checked, because {needed} failed"


def _one_line(error: Exception) -> str:
    """Return an error as one line."""
    if isinstance(error, errors.CapiHelmError):
        return str(error)
    return str(errors.CapiHelmError(f"{type(error).__name__}: {error}"))
