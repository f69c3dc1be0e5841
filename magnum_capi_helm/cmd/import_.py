# SPDX-License-Identifier: Apache-2.0

"""``magnum-capi-helm import``: what is missing of exported clusters."""

from __future__ import annotations

import argparse
from collections.abc import Iterable, Iterator
import dataclasses
import pathlib
from typing import TYPE_CHECKING

from magnum_capi_helm.cmd import fleet
from magnum_capi_helm.model import errors

if TYPE_CHECKING:
    from magnum_capi_helm.backup import bundle
    from magnum_capi_helm.backup import comparison


@dataclasses.dataclass(frozen=True)
class Subject:
    """A file, with what a line says of its cluster.

    :param name: of the cluster, or of a file that does not tell
    """

    path: pathlib.Path
    name: str
    uuid: str = ""
    project_id: str = ""


class Import(fleet.Fleet):
    """Put back what is missing of clusters that were exported.

    Secrets, intent, helm's records, Lease and namespace, for clusters that
    Magnum has. What is there stays as it is, and nothing is restored where
    it differs from the file. Intent and helm's records come back once the
    Cluster object is there, unchanged since the export. No object of Cluster
    API is made: first see backup and restore in the documentation.
    """

    examples = (
        "import /var/backups/magnum-capi-helm",
        "import /var/backups/magnum-capi-helm --apply",
    )

    action = "import"

    def add_choice(self, parser: argparse.ArgumentParser) -> None:
        """Files."""
        parser.add_argument(
            "paths",
            metavar="DIR|FILE",
            nargs="+",
            type=pathlib.Path,
            help="a file that export wrote, or a directory of them",
        )
        parser.add_argument(
            "--leave-different",
            action="store_true",
            help="restore what is missing even where something else is not "
            "as in the file, which stays as it is",
        )
        parser.add_argument(
            "--onto",
            metavar="UID",
            default="",
            help="the clusters are to be on another management cluster than "
            "they were made on: the UID of its kube-system",
        )

    def chosen(self, parsed_args: argparse.Namespace) -> list[Subject]:
        """A subject for each file, each file once."""
        found = dict.fromkeys(self._subjects(parsed_args.paths))
        return list(found)

    def plan(
        self, row: Subject, parsed_args: argparse.Namespace
    ) -> fleet.Change:
        """What is missing of it.

        :raises CapiHelmError: the file can't be used, or something differs
        """
        from magnum_capi_helm.backup import files
        from magnum_capi_helm.backup import reading
        from magnum_capi_helm.backup import restoring

        found = files.read(row.path)
        cluster = restoring.row_of(found.header)
        if reading.leaving(cluster):
            raise errors.NotSupported("the cluster is being deleted")
        rt = restoring.place(cluster, parsed_args.onto)
        finding = restoring.compare(rt, cluster, found)
        partly = parsed_args.leave_different
        restoring.check(finding, partly=partly)
        if finding.later and not finding.missing:
            raise errors.NotSupported(_later(found.header, finding))
        if finding.missing:
            rt.anchor.check()
        return fleet.Change(
            detail(found.header, finding),
            make=lambda: restoring.restore(rt, cluster, found, partly=partly),
        )

    def _subjects(self, paths: Iterable[pathlib.Path]) -> Iterator[Subject]:
        from magnum_capi_helm.backup import encoding
        from magnum_capi_helm.backup import files

        for path in paths:
            for each in files.listed(path):
                try:
                    header = files.header(each)
                except encoding.UnreadableError:
                    # Its line says why.
                    yield Subject(each, each.name)
                    continue
                if each != path and (why := _over(header)):
                    self._say(f"{each} is left out: {why}")
                    continue
                yield Subject(
                    each, header.name, header.cluster, header.project
                )


def _over(header: bundle.Header) -> str:
    """Why a file that was not named is of no use any more; empty: it is."""
    from magnum_capi_helm.backup import reading
    from magnum_capi_helm.database import rows

    row = rows.find(rows.everywhere(), header.cluster)
    if row is None:
        return f"Magnum has no cluster {header.cluster} (any more)"
    if reading.leaving(row):
        return f"cluster {header.cluster} is being deleted"
    return ""


def detail(header: bundle.Header, finding: comparison.Finding) -> str:
    """What there is to do, as one line; empty: nothing."""
    from magnum_capi_helm.status import view

    if not finding.missing:
        return ""
    parts = []
    if finding.namespace:
        parts.append(f"namespace {header.namespace}")
    if finding.lease:
        parts.append(f"Lease {header.release}")
    parts += _named([view.name_of(each) for each in finding.secrets], header)
    said = [f"restores {', '.join(parts)}"]
    if finding.different:
        said.append(f"stays as it is: {'; '.join(finding.different)}")
    if finding.later:
        said.append(_later(header, finding))
    return "; ".join(said)


def _later(header: bundle.Header, finding: comparison.Finding) -> str:
    listed = ", ".join(_named(finding.later, header))
    return (
        f"once the Cluster {header.release} is there, and not before, "
        f"import restores {listed}"
    )


def _named(found: Iterable[str], header: bundle.Header) -> list[str]:
    """Names of Secrets, helm's records in few words."""
    from magnum_capi_helm.backup import bundle

    found = list(found)
    records = bundle.records(found, header.release)
    named = [f"Secret {each}" for each in found if each not in records]
    if records:
        numbers = ", ".join(map(str, sorted(records.values())))
        named.append(f"helm's records of revisions {numbers}")
    return named
