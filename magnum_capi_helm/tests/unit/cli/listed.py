# SPDX-License-Identifier: Apache-2.0

"""What tests of ``list`` start with, and others that run it."""

from __future__ import annotations

from typing import Any

from magnum_capi_helm.cli import list as listing
from magnum_capi_helm.kubernetes import kinds
from magnum_capi_helm.kubernetes import responses
from magnum_capi_helm.tests.fakes import management
from magnum_capi_helm.tests.unit.cli import command_case
from magnum_capi_helm.tests.unit.lifecycle import base

CHART = {"metadata": {"labels": {"helm.sh/chart": "openstack-cluster-0.27.0"}}}


def run(*argv: str) -> tuple[int, list[dict[str, str]]]:
    return command_case.run_json(listing.List, *argv)


def refuse_all_namespaces(made: management.FakeManagement) -> None:
    """Let RBAC refuse lists of all namespaces at once."""
    original = made.list

    def refused(
        kind: kinds.Kind, namespace: str | None, *args: Any, **options: Any
    ) -> Any:
        if namespace is None:
            raise responses.ForbiddenError("forbidden")
        return original(kind, namespace, *args, **options)

    made.list = refused  # type: ignore[method-assign]


class ListTestCase(base.FlowTestCase):
    def setUp(self) -> None:
        super().setUp()
        self.complete()
        self.edit(kinds.CLUSTER, base.RELEASE, CHART)

    def states(self, *argv: str) -> list[tuple[str, str]]:
        return [(each["Release"], each["State"]) for each in run(*argv)[1]]

    def forget(self) -> None:
        """Magnum loses the cluster, and nothing else does."""
        for each in self.groups().values():
            each.destroy()
        self.row().destroy()
