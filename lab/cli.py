# SPDX-License-Identifier: Apache-2.0

"""The command line."""

import argparse
from collections.abc import Callable
import pathlib

from lab import cluster_api
from lab import magnums
from lab import planes
from lab import predecessor


def parser() -> argparse.ArgumentParser:
    """All commands and their options."""
    top = argparse.ArgumentParser(
        prog="python3 -m lab",
        description="A whole cloud on one machine, with this driver in it.",
    )
    commands = top.add_subparsers(dest="command", required=True)

    def add(name: str, text: str) -> argparse.ArgumentParser:
        return commands.add_parser(name, help=text, description=text)

    _up(add)
    build = add("build", "build programs and packages, and start nothing")
    _cluster_api(build, "build that Cluster API, too")
    demo = add("demo", "show a cluster from its creation to its deletion")
    demo.add_argument(
        "--keep", action="store_true", help="leave the cluster running"
    )
    _test(add)
    rows = add("rows", "count the rows of all OpenStack services")
    rows.add_argument(
        "--keep", metavar="FILE", type=pathlib.Path, help="write them there"
    )
    rows.add_argument(
        "--since",
        metavar="FILE",
        type=pathlib.Path,
        help="compare with rows that were kept; exit code 1 if there are more",
    )
    _single(add)
    _down(add)
    wipe = add("wipe", "stop all services and remove all state")
    wipe.add_argument(
        "--keep-built",
        action="store_true",
        help="leave programs and packages: the next up makes a new cloud",
    )
    return top


def _test(add: Callable[[str, str], argparse.ArgumentParser]) -> None:
    test = add("test", "run the demo and the tests on a new cloud")
    part = test.add_mutually_exclusive_group()
    part.add_argument(
        "--all",
        action="store_true",
        help="run tests of less common operations, too, for an hour more",
    )
    part.add_argument(
        "--alone",
        action="store_true",
        help="run only the tests that need a lab for themselves, and stop it",
    )


def _up(add: Callable[[str, str], argparse.ArgumentParser]) -> None:
    up = add("up", "build what is missing and start what is down")
    _second(up, "run a second management cluster, too")
    up.add_argument(
        "--ha",
        action="store_true",
        help="run Magnum as its API and three conductors, on RabbitMQ and"
        " MariaDB of Debian's (root installs them when they are missing)",
    )
    up.add_argument(
        "--magnum",
        choices=magnums.NAMES,
        help="with --ha: run that Magnum's API and conductors, on a database"
        " of its own; it stays the one that --ha runs",
    )
    up.add_argument(
        "--horizon",
        action="store_true",
        help="run Horizon with magnum-ui, too",
    )
    up.add_argument(
        "--nodes",
        action=argparse.BooleanOptionalAction,
        help="let servers be machines that run, with kubelets and pods; needs"
        " root, and stays so until --no-nodes",
    )
    up.add_argument(
        "--minors",
        action=argparse.BooleanOptionalAction,
        help="with --nodes: let machines have older versions of Kubernetes,"
        " too, until --no-minors",
    )
    _cluster_api(up, "run that Cluster API; it stays the one that runs")


def _down(add: Callable[[str, str], argparse.ArgumentParser]) -> None:
    down = add("down", "stop all services")
    part = down.add_mutually_exclusive_group()
    _second(part, "stop the second management cluster alone")
    part.add_argument(
        "--ha",
        action="store_true",
        help="stop RabbitMQ, MariaDB, Magnum's API and conductors alone",
    )


def _single(add: Callable[[str, str], argparse.ArgumentParser]) -> None:
    """The commands about services."""
    add("status", "show all services; exit code 0 when all run")
    add("start", "start a service").add_argument("service")
    stop = add("stop", "stop a service")
    stop.add_argument("service")
    stop.add_argument("--kill", action="store_true", help="with SIGKILL")
    restart = add("restart", "restart a service")
    restart.add_argument("service")
    restart.add_argument(
        "--driver",
        metavar="DRIVER",
        help=f"run Magnum with release {predecessor.VERSION} of the driver, or"
        " with the driver of another checkout, until its next start",
    )
    restart.add_argument(
        "--helm",
        metavar="PROGRAM",
        help="run Magnum with that helm until its next start",
    )
    restart.add_argument(
        "--bare-host",
        action="store_true",
        help="run Magnum as nobody, on read-only file systems, with the "
        "options of 1.4.0, until its next start",
    )


def _second(command: argparse._ActionsContainer, text: str) -> None:
    command.add_argument(
        "--management", choices=[planes.SECOND.name], help=text
    )


def _cluster_api(command: argparse.ArgumentParser, text: str) -> None:
    command.add_argument("--cluster-api", choices=cluster_api.NAMES, help=text)
