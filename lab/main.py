# SPDX-License-Identifier: Apache-2.0

"""From a command line to its command; needs the standard library alone."""

import argparse
import sys

from lab import bootstrap
from lab import cli
from lab import cluster_api
from lab import environment
from lab import errors
from lab import lock
from lab import magnums
from lab import steps
from lab import virtualenv
from lab.nodes import mode
from lab.nodes import programs

_CHANGING = frozenset(
    {"build", "up", "demo", "start", "stop", "restart", "down", "wipe"}
)
_STARTING = frozenset({"up", "demo"})
_STOPPING = frozenset({"down", "wipe"})


def run() -> int:
    """Run one command; failures that can be expected are told in words."""
    options = cli.parser().parse_args()
    try:
        return _choose(options)
    except steps.StepError as failure:
        print(errors.render(failure.step, failure.error), file=sys.stderr)
    except errors.LabError as error:
        print(errors.render(options.command, error), file=sys.stderr)
    except KeyboardInterrupt:
        print(
            "\nInterrupted. What was started still runs: see"
            " 'python3 -m lab status'; 'python3 -m lab down' stops it.",
            file=sys.stderr,
        )
        return 130
    except BrokenPipeError:
        return 141
    except OSError as problem:
        hint = errors.guess_hint(str(problem))
        told = errors.LabError(str(problem), hint=hint)
        print(errors.render(options.command, told), file=sys.stderr)
    return 1


def _choose(options: argparse.Namespace) -> int:
    if options.command == "test":
        from lab.commands import test

        return test.run(everything=options.all, alone=options.alone)
    _check(options)
    held = None
    if options.command in _CHANGING:
        held = lock.take(options.command)
    if options.command == "build":
        # Not the driver: two that install it at once spoil its metadata.
        bootstrap.prepare(_other(options), with_driver=False)
        return 0
    if options.command == "up":
        programs.choose(minors=options.minors)
        if options.nodes is not None:
            mode.choose(nodes=options.nodes)
    if options.command in _STARTING:
        bootstrap.prepare(_other(options), nodes=mode.chosen())
    if options.command == "up":
        _remember(options)
    if options.command in _STOPPING and not virtualenv.usable():
        return _dispatch(options, held)
    if not bootstrap.inside():
        bootstrap.enter(held)
    environment.enter()
    return _dispatch(options, held)


def _remember(options: argparse.Namespace) -> None:
    """Have from now on what this start asks for."""
    if options.cluster_api:
        cluster_api.CHOICE.write(options.cluster_api)
    if options.magnum:
        magnums.CHOICE.write(options.magnum)


def _check(options: argparse.Namespace) -> None:
    if options.command == "up" and options.magnum and not options.ha:
        raise errors.LabError(
            "--magnum is for Magnum's own programs",
            hint="Add --ha. In one process, the lab runs its own Magnum.",
        )


def _other(options: argparse.Namespace) -> cluster_api.Release | None:
    """The Cluster API to build besides the lab's own."""
    asked = getattr(options, "cluster_api", None) or cluster_api.CHOICE.read()
    return cluster_api.OTHERS.get(asked)


def _dispatch(options: argparse.Namespace, held: int | None) -> int:
    """Each command's module is imported for it alone.

    Most need the lab's packages; those that stop must do without.
    """
    match options.command:
        case "up":
            from lab.commands import up

            up.run(options.management, ha=options.ha, horizon=options.horizon)
        case "demo":
            from lab.commands import demo

            return demo.run(held, keep=options.keep)
        case "down":
            from lab.commands import down

            down.run(options.management, ha=options.ha)
        case "wipe":
            from lab.commands import down

            down.wipe(keep_built=options.keep_built)
        case "rows":
            from lab.commands import rows

            return rows.run(options.keep, options.since)
        case _:
            from lab.commands import services

            return services.run(options)
    return 0
