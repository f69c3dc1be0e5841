# SPDX-License-Identifier: Apache-2.0

"""``magnum-capi-helm render``: the objects that helm would apply."""

from __future__ import annotations

import argparse

from magnum_capi_helm.cmd import base
from magnum_capi_helm.cmd import values


class Render(base.Command):
    """Print the objects that helm would apply, secrets hidden.

    Nothing is written.
    """

    examples = (
        "render my-cluster",
        "render --template production.yaml",
    )

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        """A cluster, or a template."""
        parser: argparse.ArgumentParser = super().get_parser(prog_name)
        values.add_subject(parser)
        return parser

    def take_action(self, parsed_args: argparse.Namespace) -> None:
        """Print YAML, one document for each object."""
        from magnum_capi_helm.lifecycle import preview
        from magnum_capi_helm.model import masking

        rt, found = values.subject_of(parsed_args)
        # A cluster that exists has what the chart looks up: render as helm
        # would apply it. Of a template nothing exists yet.
        objects = preview.rendered(rt, found, live=not parsed_args.template)
        for each in objects:
            shown = values.as_yaml(masking.manifest(each))
            self.app.stdout.write(f"---\n{shown}")
