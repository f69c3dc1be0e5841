# SPDX-License-Identifier: Apache-2.0

"""``magnum-capi-helm values``: the values that helm would get."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, Any

import yaml

from magnum_capi_helm.cmd import base

if TYPE_CHECKING:
    from magnum_capi_helm import runtime
    from magnum_capi_helm.lifecycle import preview


def add_subject(parser: argparse.ArgumentParser) -> None:
    """The argument CLUSTER, or the option --template in its place."""
    subject = parser.add_mutually_exclusive_group(required=True)
    subject.add_argument(
        "cluster", nargs="?", metavar="CLUSTER", help="name or UUID"
    )
    subject.add_argument(
        "--template",
        metavar="T",
        help="what a new cluster would be: a cluster template of Magnum, or "
        "a YAML file with the fields of one",
    )


def subject_of(
    parsed_args: argparse.Namespace,
) -> tuple[runtime.Runtime, preview.Preview]:
    """What :func:`add_subject` was given, and its management cluster."""
    from magnum_capi_helm import runtime
    from magnum_capi_helm.cmd import choice
    from magnum_capi_helm.lifecycle import preview
    from magnum_capi_helm.planes import places
    from magnum_capi_helm.resolve import requested

    if parsed_args.template:
        rt = runtime.any_one()
        return rt, preview.of_template(rt, parsed_args.template)
    row = choice.find(parsed_args.cluster)
    rt = places.find(row)
    requested.warn_unknown(row)
    return rt, preview.of_cluster(rt, row)


def as_yaml(content: Any) -> str:
    """YAML as people like to read it."""
    return str(
        yaml.safe_dump(content, default_flow_style=False, sort_keys=True)
    )


class Values(base.Command):
    """Print the chart values of a cluster, secrets hidden.

    For a cluster, what its next operation would send; for a template, what
    a new cluster would get. Nothing is written.
    """

    examples = (
        "values my-cluster",
        "values --template production.yaml",
    )

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        """A cluster, or a template."""
        parser: argparse.ArgumentParser = super().get_parser(prog_name)
        add_subject(parser)
        return parser

    def take_action(self, parsed_args: argparse.Namespace) -> None:
        """Print YAML."""
        from magnum_capi_helm.model import masking

        _, found = subject_of(parsed_args)
        self.app.stdout.write(as_yaml(masking.values(found.values)))
