# SPDX-License-Identifier: Apache-2.0

"""``magnum-capi-helm values``, ``render`` and ``diff``: before an operation.

None of them writes anything.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import yaml

from magnum_capi_helm.cli import base
from magnum_capi_helm.model import encoding
from magnum_capi_helm.model import errors

if TYPE_CHECKING:
    from magnum_capi_helm.chart import diff
    from magnum_capi_helm.model import desired_state
    from magnum_capi_helm.operations import cluster_release

#: ``diff`` names so many paths of one object, and counts the others.
_PATHS = 4


class _Preview(base.Command):
    """A command about a cluster, or about a new cluster of a template."""

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        """Add CLUSTER, or the option --template in its place."""
        subject = parser.add_mutually_exclusive_group(required=True)
        subject.add_argument(
            "cluster",
            nargs="?",
            metavar="CLUSTER",
            help="name or UUID of a cluster",
        )
        subject.add_argument(
            "--template",
            metavar="TEMPLATE",
            help="preview a new cluster of this template: a cluster template "
            "of Magnum, or a YAML file with a template's fields",
        )

    def preview(
        self, parsed_args: argparse.Namespace
    ) -> tuple[cluster_release.Release, desired_state.DesiredState]:
        """Return the chosen cluster's release and its desired state."""
        from magnum_capi_helm import runtime
        from magnum_capi_helm.lifecycle import preview
        from magnum_capi_helm.resolve import requested_labels

        if parsed_args.template:
            return preview.of_template(runtime.any_one(), parsed_args.template)
        row = base.find_cluster(parsed_args.cluster)
        release = base.release(row)
        requested_labels.warn_unknown(row)
        return release, preview.of_cluster(release)


class Values(_Preview):
    """Print the chart values of a cluster, secrets hidden.

    For a cluster, the command prints the values that its next operation would
    send; for a template, the values of a new cluster. The command changes
    nothing.
    """

    examples = (
        "values my-cluster",
        "values --template production.yaml",
    )

    def take_action(self, parsed_args: argparse.Namespace) -> None:
        """Print YAML."""
        from magnum_capi_helm.chart import overlays

        _, desired = self.preview(parsed_args)
        planned = encoding.mask_values(overlays.for_helm(desired))
        self.app.stdout.write(_yaml(planned))


class Render(_Preview):
    """Print the objects that the chart makes, secrets hidden.

    The command changes nothing.
    """

    examples = (
        "render my-cluster",
        "render --template production.yaml",
    )

    def take_action(self, parsed_args: argparse.Namespace) -> None:
        """Print YAML, one document for each object."""
        release, desired = self.preview(parsed_args)
        # The chart looks up objects of a living cluster, as helm does when
        # it applies. A template has none yet.
        objects = release.render(desired, live=not parsed_args.template)
        for each in objects:
            self.app.stdout.write(
                f"---\n{_yaml(encoding.mask_manifest(each))}"
            )


def _yaml(content: Any) -> str:
    return str(
        yaml.safe_dump(content, default_flow_style=False, sort_keys=True)
    )


class Diff(base.Lister):
    """Show the changes of the next operation, and the machines it replaces.

    Without options, the command shows the changes of a resize; with --template
    or --chart-version, the changes of an upgrade; with --label, the changes
    of cluster apply. The command changes nothing.
    """

    examples = (
        "diff my-cluster",
        "diff my-cluster --chart-version 0.27.0",
        "diff my-cluster --label auto_healing_enabled=false",
    )

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        """Add the cluster, and the template and chart to compare with."""
        base.add_cluster(parser)
        parser.add_argument(
            "--chart-version",
            metavar="VERSION",
            type=base.chart_version,
            help="compare with this version of the chart",
        )
        parser.add_argument(
            "--template",
            metavar="TEMPLATE",
            help="compare with this cluster template (name or UUID)",
        )
        base.add_labels(parser)

    def take_action(self, parsed_args: argparse.Namespace) -> base.Table:
        """Compare with the installed objects."""
        from magnum_capi_helm.lifecycle import preview
        from magnum_capi_helm.lifecycle import release_change

        template, version = parsed_args.template, parsed_args.chart_version
        labels = dict(parsed_args.label)
        if labels and (template or version):
            raise errors.InvalidInput(
                "--label does not go with --template or --chart-version"
            )
        release = base.release(base.find_cluster(parsed_args.cluster))
        desired = preview.upgraded(release, template, version, labels)
        changes = release_change.compare(release, desired).changes
        self.say(summarize(changes))
        return table(changes)


def table(changes: Sequence[diff.Change]) -> base.Table:
    """Return the changes of objects as a table."""
    header = ("Object", "Change", "Machines replaced", "What")
    return header, [_line(each) for each in changes]


def summarize(changes: Sequence[diff.Change]) -> str:
    """Return how many objects change, and how many machines are replaced."""
    replaced = sum(each.replaced for each in changes)
    if not changes:
        return "nothing changes; no machine is replaced"
    return f"{_count(len(changes), 'object')} to change; " + (
        f"{_count(replaced, 'machine')} to be replaced"
        if replaced
        else "no machine is replaced"
    )


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}{'' if number == 1 else 's'}"


def _line(change: diff.Change) -> tuple[str, ...]:
    return (
        f"{change.kind} {change.name}",
        change.what,
        str(change.replaced or "-"),
        errors.shortened(change.paths, _PATHS),
    )
