# SPDX-License-Identifier: Apache-2.0

"""``magnum-capi-helm kubeconfig``: the way into a cluster, for operators."""

from __future__ import annotations

import argparse
import base64
import pathlib
from typing import Any

import yaml

from magnum_capi_helm.cmd import arguments
from magnum_capi_helm.cmd import base
from magnum_capi_helm.cmd import fleet
from magnum_capi_helm.cmd import private_file
from magnum_capi_helm.model import errors

#: Cluster API's key in the Secret.
_KEY = "value"


class Kubeconfig(base.Command):
    """Take the administrator's kubeconfig of a cluster.

    Cluster API keeps it on the management cluster. Whoever has it may do
    anything in the cluster, until its client certificate expires: there is no
    other way to take it back than new CAs. So it goes into a file that nobody
    else can read, or to the standard output if that is asked for; never into
    a log. The log says who took it.
    """

    examples = (
        "kubeconfig my-cluster --file my-cluster.kubeconfig",
        "kubeconfig my-cluster --file my-cluster.kubeconfig --force",
        "kubeconfig my-cluster --stdout | kubectl --kubeconfig /dev/stdin "
        "get nodes",
    )

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        """Which cluster, and where to."""
        parser: argparse.ArgumentParser = super().get_parser(prog_name)
        arguments.add_cluster(parser)
        where = parser.add_mutually_exclusive_group(required=True)
        where.add_argument(
            "--file",
            type=pathlib.Path,
            metavar="F",
            help="write it into this file, with mode 0600",
        )
        where.add_argument(
            "--stdout", action="store_true", help="print it, key and all"
        )
        parser.add_argument(
            "--force",
            action="store_true",
            help="let it take the place of a file that exists",
        )
        return parser

    def take_action(self, parsed_args: argparse.Namespace) -> None:
        """Take it, and write down who did."""
        from magnum_capi_helm.cmd import choice
        from magnum_capi_helm.model import audit

        path, force = parsed_args.file, parsed_args.force
        if path is not None:
            private_file.check(path, force)
        row = choice.find(parsed_args.cluster)
        # Before anybody has it.
        with (
            audit.acting(fleet.operator("kubeconfig")),
            audit.noted(row.uuid),
        ):
            text = _read(row)
        if path is None:
            self.app.stdout.write(text)
            return
        private_file.write(path, text, force)
        self.app.stderr.write(f"{path} opens {row.name}: keep it safe\n")


def _read(row: Any) -> str:
    """The kubeconfig of a cluster.

    :raises NotSupported: there is none
    :raises ManagementError: it is damaged
    """
    from magnum_capi_helm.management import kinds
    from magnum_capi_helm.model import names
    from magnum_capi_helm.operations import operation
    from magnum_capi_helm.planes import places

    if not row.stack_id:
        raise errors.NotSupported(operation.NO_RELEASE)
    rt = places.find(row)
    namespace, release = operation.scope_of(row)
    name = names.kubeconfig(release)
    secret = rt.management.get(kinds.SECRET, namespace, name)
    if secret is None:
        raise errors.NotSupported(
            f"there is no Secret {name}: Cluster API makes it when the "
            f"network is there; see 'magnum-capi-helm describe {row.uuid}'"
        )
    try:
        text = base64.b64decode(secret["data"][_KEY]).decode()
        well = bool(yaml.safe_load(text)["clusters"][0]["cluster"]["server"])
    except (IndexError, KeyError, TypeError, ValueError, yaml.YAMLError):
        # Not chained: what YAML says of it quotes it.
        well = False
    if not well:
        raise errors.ManagementError(
            f"the Secret {name} is damaged: it holds no kubeconfig. Cluster "
            "API makes it anew when it is deleted"
        )
    return text
