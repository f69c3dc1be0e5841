# SPDX-License-Identifier: Apache-2.0

"""What the drills of a swap look at: machines, releases, objects, rows."""

from __future__ import annotations

import json
import os
import pathlib
import subprocess
import sys
from typing import Any

from magnum_capi_helm.kubernetes import client
from magnum_capi_helm.kubernetes import kinds
from magnum_capi_helm.status import view
from magnum_capi_helm.tests.functional import database
from magnum_capi_helm.tests.functional import programs

#: What the polls of 1.4.0 write, whoever else looks.
_POLLED = frozenset(
    {"health_status", "health_status_reason", "updated_at", "node_count"}
)


def command(
    *words: str, others: tuple[str, ...] = ()
) -> tuple[int, list[dict[str, str]], str]:
    """``magnum-capi-helm`` as an operator calls it.

    :param others: configuration files beside Magnum's own
    :returns: its exit code, the lines of its table, and its summary
    """
    home = programs.LAB / "cloud" / "magnum"
    done = subprocess.run(
        [
            sys.executable,
            "-m",
            "magnum_capi_helm.cli.main",
            *(f"--config-file={home / e}" for e in ("magnum.conf", *others)),
            f"--config-dir={home / 'conf.d'}",
            *words,
            *("-f", "json"),
        ],
        cwd=programs.CHECKOUT,
        env={
            **os.environ,
            "PATH": f"{programs.LAB / 'bin'}:{os.environ['PATH']}",
        },
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    if not done.stdout:
        raise AssertionError(f"{words}: {done.stderr}")
    summary = done.stderr.strip().rpartition("\n")[2]
    return done.returncode, list(json.loads(done.stdout)), summary


class Looks:
    """One project's namespace of the first management cluster.

    :param plane: where it is
    """

    def __init__(self, plane: client.Client, namespace: str) -> None:
        self._plane = plane
        self._namespace = namespace

    def machines(self, release: str) -> dict[str, str]:
        """Names of the machines of a release by UID; a new one has another."""
        return {
            each["metadata"]["uid"]: view.name_of(each)
            for each in self.owned(kinds.MACHINE, release)
            if not view.deleting(each)
        }

    def owned(self, kind: kinds.Kind, release: str) -> list[client.Object]:
        """Objects of one kind of a release."""
        selector = f"{view.CLUSTER_NAME_LABEL}={release}"
        return self._plane.list(kind, self._namespace, selector)

    def objects(self) -> dict[str, str]:
        """The resourceVersion of each object, helm's records among them."""
        return {
            f"{kind.name} {view.name_of(each)}": (
                each["metadata"]["resourceVersion"]
            )
            for kind in kinds.ALL
            if kind is not kinds.NAMESPACE
            for each in self._plane.list(kind, self._namespace)
        }

    def values(self, release: str) -> dict[str, Any]:
        """The values that a release was installed with."""
        return dict(
            json.loads(self.helm("get", "values", release, "-o", "json"))
        )

    def helm(self, *words: str) -> str:
        """What the lab's helm prints."""
        return programs.run(
            str(programs.LAB / "bin" / "helm"),
            *words,
            f"--namespace={self._namespace}",
            env={"KUBECONFIG": str(programs.LAB / "kubeconfig")},
        )


def rows(uuids: list[str]) -> list[dict[str, Any]]:
    """The rows of clusters and their nodegroups, but what polls write."""
    queries = (
        "SELECT * FROM cluster WHERE uuid IN :uuids ORDER BY uuid",
        "SELECT * FROM nodegroup WHERE cluster_id IN :uuids ORDER BY uuid",
    )
    return [
        {key: value for key, value in row.items() if key not in _POLLED}
        for query in queries
        for row in database.rows(query, uuids=uuids)
    ]


def kubectl(*words: str, path: pathlib.Path | None = None) -> str:
    """What the lab's kubectl prints, as its administrator."""
    return programs.run(
        str(programs.LAB / "bin" / "kubectl"),
        *words,
        env={"KUBECONFIG": str(path or programs.LAB / "kubeconfig")},
    )
