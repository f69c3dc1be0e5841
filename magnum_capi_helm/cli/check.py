# SPDX-License-Identifier: Apache-2.0

"""``magnum-capi-helm check``: would a create work on this host?"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterable, Iterator, Sequence
import dataclasses
from typing import TYPE_CHECKING

from magnum_capi_helm.cli import base
from magnum_capi_helm.model import components
from magnum_capi_helm.model import errors

if TYPE_CHECKING:
    from magnum_capi_helm import runtime

_HEADER = ("Check", "State", "Detail")

#: Instead of a management cluster's name.
_ALL = "(all)"
_CONFIGURATION = "configuration"


class Check(base.Lister):
    """Check configuration, management cluster, helm, chart and cloud.

    The command prints one line for each check, and says how to repair a
    failure. It compares the installed components with the versions for which
    the authors tested the configured chart. A column names the management
    cluster if there are several.
    """

    configuration = base.Configuration.OPTIONAL

    examples = (
        "check",
        "check -f json",
        "check --from-1-4-0",
    )

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        """Add the choice of management clusters and of what to check."""
        parser.add_argument(
            "--management-cluster",
            action="append",
            metavar="NAME",
            help="check only this management cluster; may be used more than "
            "once (default: all)",
        )
        parser.add_argument(
            "--from-1-4-0",
            action="store_true",
            dest="from_1_4_0",
            help="list the tasks before this version replaces "
            "magnum-capi-helm 1.4.0: options, labels, clusters without a "
            "release",
        )
        parser.add_argument(
            "--project",
            metavar="ID",
            help="with --from-1-4-0: check only the clusters of this project",
        )

    def take_action(self, parsed_args: argparse.Namespace) -> base.Table:
        """Run the chosen checks."""
        from magnum_capi_helm import runtime
        from magnum_capi_helm.cli import from_1_4_0

        if parsed_args.from_1_4_0:
            return self._report(from_1_4_0.run(parsed_args.project))
        if parsed_args.project:
            raise errors.InvalidInput(
                "--project is for --from-1-4-0: give both, or neither"
            )
        chosen = parsed_args.management_cluster or runtime.names()
        places, results = zip(*run(chosen), strict=True)
        header, lines = self._report(results)
        if list(chosen) == [""]:
            return header, lines
        return ("Management cluster", *header), [
            (place, *line) for place, line in zip(places, lines, strict=True)
        ]

    def _report(self, results: Iterable[components.Result]) -> base.Table:
        """Return a line for each result; set the exit code."""
        lines = [dataclasses.astuple(each) for each in results]
        self.exit_code = int(any(components.FAILED in each for each in lines))
        return _HEADER, lines


@dataclasses.dataclass(frozen=True)
class Part:
    """A check of one subject.

    :param look: returns the text of the line, or several lines; raises an
        error with advice
    :param asks: the check asks a management cluster, and runs for each
    :param after: the check that has to succeed before this one
    """

    name: str
    look: Callable[[runtime.Runtime], str | Iterable[components.Result]]
    asks: bool = False
    after: str = ""


def parts() -> tuple[Part, ...]:
    """Return all checks, in the order in which they run."""
    from magnum_capi_helm.cli import check_host
    from magnum_capi_helm.cli import check_management_cluster as management

    return (
        Part("kubeconfig", management.check_kubeconfig, asks=True),
        Part("management cluster", management.check_identity, asks=True),
        Part("clock", management.check_clock, asks=True),
        Part("maintenance", management.check_maintenance, asks=True),
        Part("permissions", management.check_permissions, asks=True),
        Part("Cluster API", management.check_api_versions, asks=True),
        Part("availability", management.describe_redundancy, asks=True),
        Part("clean-up", management.describe_cleanup, asks=True),
        Part(_CONFIGURATION, check_host.check_configuration),
        Part("database", check_host.check_database),
        Part("driver", check_host.check_driver),
        Part("helm", check_host.check_helm),
        Part("chart", check_host.check_chart),
        Part("network drivers", check_host.check_network_drivers),
        Part("templates", check_host.check_template_labels, after="database"),
        Part("OpenStack", check_host.check_openstack),
        Part("service user", check_host.check_service_user, after="OpenStack"),
        Part("certificates", check_host.check_certificate_store),
        Part("delivery", check_host.check_delivery),
        Part("versions", management.component_versions, asks=True),
        Part("helm version", management.helm_version, after="helm"),
    )


def run(names: Sequence[str]) -> Iterator[tuple[str, components.Result]]:
    """Run all checks; yield each with its management cluster's name.

    :param names: of the management clusters; an empty one is the only one
    :raises NotConfigured: there is none of that name
    """
    from magnum_capi_helm import runtime

    every = parts()
    of_each = [each for each in every if each.asks]
    of_all = [each for each in every if each not in of_each]
    rounds = [*((name, of_each) for name in names), (_ALL, of_all)]
    if list(names) == [""]:
        rounds = [("", list(every))]
    if problem := _configuration_problem():
        place = rounds[-1][0]
        for each in every:
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
    rt: runtime.Runtime, checks: Sequence[Part]
) -> list[components.Result]:
    """Run checks in their order.

    When the management cluster can't be asked, checks that ask it are
    skipped, and name the check that failed.
    """
    from magnum_capi_helm.cli import check_host
    from magnum_capi_helm.cli import check_management_cluster as management

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
    from magnum_capi_helm import runtime
    from magnum_capi_helm.cli import check_host

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
        return errors.explained(error)
    return str(errors.CapiHelmError(f"{type(error).__name__}: {error}"))
