# SPDX-License-Identifier: Apache-2.0

"""Arguments that several commands have."""

from __future__ import annotations

import argparse


def add_cluster(parser: argparse.ArgumentParser) -> None:
    """Add CLUSTER, one cluster by name or UUID."""
    parser.add_argument("cluster", metavar="CLUSTER", help="name or UUID")


def add_clusters(parser: argparse.ArgumentParser) -> None:
    """Add CLUSTER..., --project and --all, of which a user gives one.

    ``choice.clusters`` refuses more than one of the three.
    """
    parser.add_argument(
        "clusters", metavar="CLUSTER", nargs="*", help="name or UUID"
    )
    parser.add_argument(
        "--project", metavar="ID", help="all clusters of that project"
    )
    parser.add_argument(
        "--all",
        action="store_true",
        dest="every",
        help="all clusters of this driver",
    )


def add_apply(parser: argparse.ArgumentParser, does: str) -> None:
    """Add --apply, without which the command writes nothing.

    :param does: what it does, and what is shown without it
    """
    parser.add_argument("--apply", action="store_true", help=does)


def positive(text: str) -> int:
    """Return a whole number above zero.

    :raises argparse.ArgumentTypeError: the text is none
    """
    count = int(text) if text.isascii() and text.isdigit() else 0
    if count < 1:
        raise argparse.ArgumentTypeError(
            f"{text!r} is not a whole number from 1 on"
        )
    return count
