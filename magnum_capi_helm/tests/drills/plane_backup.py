# Licensed under the Apache License, Version 2.0 (the "License"); you may
# not use this file except in compliance with the License. You may obtain
# a copy of the License at
#
#      http://www.apache.org/licenses/LICENSE-2.0
#
# Unless required by applicable law or agreed to in writing, software
# distributed under the License is distributed on an "AS IS" BASIS, WITHOUT
# WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the
# License for the specific language governing permissions and limitations
# under the License.

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
