# SPDX-License-Identifier: Apache-2.0

"""``magnum-capi-helm kubeconfig``: the way into a cluster."""

from __future__ import annotations

import argparse
import base64
import contextlib
import os
import pathlib
import tempfile
from typing import Any

from magnum_capi_helm.cli import base
from magnum_capi_helm.kubernetes import kinds
from magnum_capi_helm.model import errors
from magnum_capi_helm.model import names


class Kubeconfig(base.Command):
    """Save or print the administrator's kubeconfig of a cluster.

    Cluster API keeps this kubeconfig on the management cluster. Its owner can
    do anything in the cluster until the client certificate expires; only new
    CAs of the cluster revoke the certificate. The command writes the
    kubeconfig into a file that only the file's owner can read. With --stdout,
    the command prints the kubeconfig. The log names the command's user, and
    never has the kubeconfig.
    """

    examples = (
        "kubeconfig my-cluster --file my-cluster.kubeconfig",
        "kubeconfig my-cluster --file my-cluster.kubeconfig --force",
        "kubeconfig my-cluster --stdout | kubectl --kubeconfig /dev/stdin "
        "get nodes",
    )

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        """Add the cluster and the destination."""
        base.add_cluster(parser)
        where = parser.add_mutually_exclusive_group(required=True)
        where.add_argument(
            "--file",
            type=pathlib.Path,
            metavar="FILE",
            help="write the kubeconfig to this file, with mode 0600",
        )
        where.add_argument(
            "--stdout",
            action="store_true",
            help="print the kubeconfig, with its private key",
        )
        parser.add_argument(
            "--force",
            action="store_true",
            help="replace an existing file",
        )

    def take_action(self, parsed_args: argparse.Namespace) -> None:
        """Log the user who takes it, then write it."""
        path, force = parsed_args.file, parsed_args.force
        if path is not None:
            _check(path, force)
        row = base.find_cluster(parsed_args.cluster)
        with base.audited("kubeconfig", f"cluster {row.uuid}"):
            text = _read(row)
        if path is None:
            self.app.stdout.write(text)
            return
        _write(path, text, force)
        self.say(f"{path} gives full access to {row.name}: keep it safe")


def _read(row: Any) -> str:
    """Return the kubeconfig of a cluster.

    :raises NotSupported: there is none
    :raises ManagementError: it is damaged
    """
    from magnum_capi_helm.kubernetes import kubeconfig
    from magnum_capi_helm.kubernetes import location
    from magnum_capi_helm.management_clusters import registry
    from magnum_capi_helm.operations import operation

    if not row.stack_id:
        raise errors.NotSupported(operation.NO_RELEASE)
    rt = registry.find_runtime(row)
    namespace, release = location.scope_of(row)
    name = names.kubeconfig(release)
    secret = rt.management.get(kinds.SECRET, namespace, name)
    if secret is None:
        raise errors.NotSupported(
            f"there is no Secret {name} yet: Cluster API makes it after the "
            f"network; see 'magnum-capi-helm describe {row.uuid}'"
        )
    try:
        kubeconfig.administrator(secret)
    except errors.ManagementError as error:
        raise errors.ManagementError(
            f"{error}: delete the Secret, and Cluster API makes it again"
        ) from None
    return base64.b64decode(secret["data"]["value"]).decode()


def _check(path: pathlib.Path, force: bool) -> None:
    """Check that a file can be written, before the kubeconfig is read.

    :raises InvalidInput: another file is there, or there is no directory
    """
    if not path.parent.is_dir():
        raise errors.InvalidInput(
            f"--file {path}: there is no directory {path.parent}"
        )
    if path.is_dir():
        raise errors.InvalidInput(f"--file {path} is a directory")
    if not force and (path.exists() or path.is_symlink()):
        raise _exists(path)


def _write(path: pathlib.Path, text: str, force: bool) -> None:
    """Write a file as a whole, with mode 0600 whatever the umask is.

    The target of a symbolic link is not touched.

    :param force: replace another file
    :raises InvalidInput: another file is there, or it can't be written
    """
    try:
        # mkstemp gives it this mode.
        handle, temporary = tempfile.mkstemp(
            prefix=f".{path.name}.", dir=path.parent
        )
        try:
            with os.fdopen(handle, "w", encoding="utf-8") as stream:
                stream.write(text)
            if force:
                os.replace(temporary, path)
            else:
                os.link(temporary, path)
        finally:
            with contextlib.suppress(FileNotFoundError):
                os.unlink(temporary)
    except FileExistsError as error:
        raise _exists(path) from error
    except OSError as error:
        raise errors.InvalidInput(
            f"--file {path} can't be written: {error.strerror}"
        ) from error


def _exists(path: pathlib.Path) -> errors.InvalidInput:
    return errors.InvalidInput(
        f"--file {path} exists: give another one, or --force"
    )
