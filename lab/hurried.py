# SPDX-License-Identifier: Apache-2.0

"""Cluster API with one wait that is shorter than its own.

It looks for the API of a new cluster before it can be there, always, and
again after half a minute: as long as all else that the lab does to make a
cluster, whose machines need seconds. Here it looks again after three seconds.
"""

import os
import pathlib
import shutil

from lab import errors
from lab import layout

_MODULE = "sigs.k8s.io/cluster-api"
_WHERE = "controllers/clustercache/cluster_cache.go"
_THEIRS = "ConnectionCreationRetryInterval: 30 * time.Second"
_OURS = "ConnectionCreationRetryInterval: 3 * time.Second"
#: What is different, for whoever wants to know whether to build anew.
CHANGE = f"{_WHERE} {_OURS}"
_UNUSED = {"docs", "test", "hack", "cmd/clusterctl"}


def mode(original: pathlib.Path, plane: pathlib.Path) -> list[str]:
    """Words for ``go build`` that let it take the changed sources.

    :param original: the module's own sources, which stay as they are
    :param plane: the folder of the go.mod that requires it
    :raises LabError: they don't have what is to be changed
    """
    # Named after its version, too; go.mod bears no @ in a path.
    sources = layout.HURRIED / original.name.replace("@", "-")
    if not sources.exists():
        _copy(original, sources)
    text = (original / _WHERE).read_text()
    if text.count(_THEIRS) != 1:
        raise errors.LabError(
            f"{original / _WHERE} does not have {_THEIRS!r} once",
            hint="Look for it there, and mend lab/hurried.py.",
        )
    (sources / _WHERE).write_text(text.replace(_THEIRS, _OURS))
    module = layout.HURRIED / "go.mod"
    required = (plane / "go.mod").read_text()
    module.write_text(f"{required}\nreplace {_MODULE} => {sources}\n")
    shutil.copyfile(plane / "go.sum", layout.HURRIED / "go.sum")
    return [f"-modfile={module}"]


def _copy(original: pathlib.Path, target: pathlib.Path) -> None:
    """All but tests, whole or not at all; Go's own can't be written to."""
    shutil.rmtree(layout.HURRIED, ignore_errors=True)
    fresh = layout.HURRIED / "new"
    for folder, folders, names in os.walk(original):
        inside = pathlib.Path(folder).relative_to(original)
        folders[:] = [
            name for name in folders if str(inside / name) not in _UNUSED
        ]
        (fresh / inside).mkdir(parents=True)
        for name in names:
            if not name.endswith("_test.go"):
                shutil.copyfile(
                    original / inside / name, fresh / inside / name
                )
    fresh.rename(target)
