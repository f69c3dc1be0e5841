# SPDX-License-Identifier: Apache-2.0

"""The demo user's view of Magnum, without the second a command costs."""

from collections.abc import Callable
import contextlib
import dataclasses
from typing import Any

import openstack.exceptions

from lab.cloud import catalogue


@dataclasses.dataclass(frozen=True)
class State:
    """What Magnum says about a cluster."""

    status: str
    reason: str


class Magnum:
    """Clusters and templates of the demo project."""

    def __init__(self) -> None:
        connection = catalogue.connect("demo")
        self._api: Any = connection.container_infrastructure_management

    def state(self, name: str) -> State | None:
        """The cluster's state; None when there is no such cluster."""
        try:
            cluster = self._api.get_cluster(name)
        except openstack.exceptions.NotFoundException:
            return None
        return State(cluster.status or "", cluster.status_reason or "")

    def delete(self, name: str) -> None:
        """Delete a cluster that may be gone already."""
        self._gone(self._api.delete_cluster, name)

    def delete_template(self, name: str) -> None:
        """Delete a cluster template that may be gone already."""
        self._gone(self._api.delete_cluster_template, name)

    @staticmethod
    def _gone(delete: Callable[[str], Any], name: str) -> None:
        with contextlib.suppress(openstack.exceptions.NotFoundException):
            delete(name)
