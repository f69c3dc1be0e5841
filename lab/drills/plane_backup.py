# SPDX-License-Identifier: Apache-2.0

"""The lab's management cluster, backed up, lost and restored."""

from __future__ import annotations

import pathlib
import shutil

from magnum_capi_helm.tests.functional import programs

#: Whoever is a client of the API server, the first to be stopped first.
_CLIENTS = (
    "capi-core",
    "capi-bootstrap",
    "capi-kcp",
    "capo",
    "labinfra",
    "kube-controller-manager",
)
_STORE = ("kube-apiserver", "etcd")
_DATA = programs.LAB / "etcd" / "data"


def save(directory: pathlib.Path) -> None:
    """What etcd has, while nobody writes."""
    for name in _STORE:
        programs.lab("stop", name)
    shutil.copytree(_DATA, directory)
    _start()


def lose() -> None:
    """All at once, and the disk."""
    for name in _STORE:
        programs.lab("stop", name, "--kill")
    shutil.rmtree(_DATA)


def restore(directory: pathlib.Path) -> None:
    """The backup in its place; who has seen what is gone, starts anew."""
    for name in _CLIENTS:
        programs.lab("stop", name)
    shutil.copytree(directory, _DATA)
    _start()
    for name in reversed(_CLIENTS):
        programs.lab("start", name)


def mend(directory: pathlib.Path) -> None:
    """After a drill that ended early: the lab has to go on."""
    if not _DATA.exists():
        restore(directory)


def _start() -> None:
    for name in reversed(_STORE):
        programs.lab("start", name)
