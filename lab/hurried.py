# SPDX-License-Identifier: Apache-2.0

"""Modules of Go with waits that are shorter than their own.

Cluster API looks for the API of a new cluster before it can be there, and
again after half a minute. The OpenStack provider looks again after 10 or 15
seconds at what OpenStack makes or deletes, which takes one second here. With
shorter waits the lab needs half of the time for a cluster.
"""

from collections.abc import Mapping
import dataclasses
import os
import pathlib
import shutil

from lab import errors
from lab import layout

_UNUSED = {"docs", "test", "hack", "cmd/clusterctl"}


@dataclasses.dataclass(frozen=True)
class Module:
    """A module of Go, and what to change in it.

    ``changes``: for each file, lines of Go and what to write instead
    """

    path: str
    changes: Mapping[str, Mapping[str, str]]

    def text(self) -> str:
        """Return the changes in words, to compare with an earlier build."""
        return repr(self.changes)


CLUSTER_API = Module(
    "sigs.k8s.io/cluster-api",
    {
        "controllers/clustercache/cluster_cache.go": {
            "ConnectionCreationRetryInterval: 30 * time.Second": (
                "ConnectionCreationRetryInterval: 3 * time.Second"
            ),
        },
    },
)
CAPO = Module(
    "sigs.k8s.io/cluster-api-provider-openstack",
    {
        "controllers/openstackcluster_controller.go": {
            "RequeueAfter: 5 * time.Second": "RequeueAfter: 2 * time.Second",
        },
        "controllers/openstackmachine_controller.go": {
            "waitForClusterInfrastructureReadyDuration = 15 * time.Second": (
                "waitForClusterInfrastructureReadyDuration = 2 * time.Second"
            ),
            "waitForBuildingInstanceToReconcile        = 10 * time.Second": (
                "waitForBuildingInstanceToReconcile        = 2 * time.Second"
            ),
            "deleteServerRequeueDelay                  = 10 * time.Second": (
                "deleteServerRequeueDelay                  = 2 * time.Second"
            ),
        },
        "pkg/cloud/services/compute/instance.go": {
            "retryIntervalInstanceStatus = 10 * time.Second": (
                "retryIntervalInstanceStatus = time.Second"
            ),
        },
        "pkg/cloud/services/loadbalancer/loadbalancer.go": {
            "waitForOctaviaLBCleanup        = 15 * time.Second": (
                "waitForOctaviaLBCleanup        = 2 * time.Second"
            ),
        },
    },
)


def mode(
    module: Module, original: pathlib.Path, plane: pathlib.Path
) -> list[str]:
    """Return words for ``go build`` that let it take the changed sources.

    :param original: the module's own sources, which stay as they are
    :param plane: the folder of the go.mod that requires it
    :raises LabError: they don't have what is to be changed
    """
    # Named after its version, too; go.mod bears no @ in a path.
    sources = layout.HURRIED / original.name.replace("@", "-")
    if not sources.exists():
        _copy(original, sources)
    for where, changes in module.changes.items():
        text = (original / where).read_text()
        for theirs, ours in changes.items():
            if text.count(theirs) != 1:
                raise errors.LabError(
                    f"{original / where} does not have {theirs!r} once",
                    hint="Look for it there, and mend lab/hurried.py.",
                )
            text = text.replace(theirs, ours)
        (sources / where).write_text(text)
    required = sources.with_name(f"{sources.name}.mod")
    required.write_text(
        f"{(plane / 'go.mod').read_text()}\n"
        f"replace {module.path} => {sources}\n"
    )
    shutil.copyfile(plane / "go.sum", required.with_suffix(".sum"))
    return [f"-modfile={required}"]


def _copy(original: pathlib.Path, target: pathlib.Path) -> None:
    """Copy all but tests, whole or not at all; Go's cache is read-only.

    Other versions of the module go.
    """
    name = original.name.partition("@")[0]
    for old in layout.HURRIED.glob(f"{name}-v*"):
        shutil.rmtree(old) if old.is_dir() else old.unlink()
    fresh = layout.HURRIED / "new"
    shutil.rmtree(fresh, ignore_errors=True)
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
