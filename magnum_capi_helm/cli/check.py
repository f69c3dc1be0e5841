# SPDX-License-Identifier: Apache-2.0

"""``magnum-capi-helm check``: would a create work on this host?"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
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


class Check(base.Lister):
    """Check configuration, management cluster, helm, chart and cloud.

    The command prints one line for each check, and says how to repair a
    failure. A column names the management cluster if there are several.
    """

    needs_configuration = False

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


def run(names: Sequence[str]) -> Iterator[tuple[str, components.Result]]:
    """Run all checks; yield each with its management cluster's name.

    :param names: of the management clusters; an empty one is the only one
    :raises NotConfigured: there is none of that name
    """
    from magnum_capi_helm import runtime
    from magnum_capi_helm.cli import check_host
    from magnum_capi_helm.cli import check_management_cluster

    place = _ALL if any(names) else ""
    try:
        host = runtime.any_one()
    except ValueError as error:
        # No conductor can start with these options.
        text = "; ".join(check_host.wrong_options()) or _one_line(error)
        state = components.FAILED
        yield place, components.Result(check_host.CONFIGURATION, state, text)
        return
    for name in names:
        for result in _run(runtime.get(name), check_management_cluster.CHECKS):
            yield name, result
    for result in _run(host, check_host.CHECKS):
        yield place, result


def _run(
    rt: runtime.Runtime, checks: Mapping[str, Callable[[runtime.Runtime], str]]
) -> Iterator[components.Result]:
    """Run checks in their order.

    When the management cluster can't be asked, the checks after the one that
    failed are skipped, and name it.
    """
    skipped = ""
    for name, look in checks.items():
        state, detail = components.UNKNOWN, skipped
        try:
            if not skipped:
                state, detail = components.OK, look(rt)
        except components.UndeterminedError as error:
            detail = str(error)
        except Exception as error:
            # An unexpected error must not hide the results of other checks.
            state, detail = components.FAILED, _one_line(error)
            if isinstance(error, components.NoWayInError):
                skipped = f"not checked, because {name} failed"
        yield components.Result(name, state, detail)


def _one_line(error: Exception) -> str:
    """Return an error as one line."""
    if isinstance(error, errors.CapiHelmError):
        return errors.explained(error)
    return str(errors.CapiHelmError(f"{type(error).__name__}: {error}"))
