# SPDX-License-Identifier: Apache-2.0

"""A cluster that is deleted, and what its workloads left behind."""

from __future__ import annotations

from typing import Any

from magnum_capi_helm.tests.unit.lifecycle import base
from magnum_capi_helm.tests.unit.lifecycle import deleting

NEIGHBOUR = f"{base.RELEASE}-b"
WEB = f"kube_service_{base.RELEASE}_default_web"


def address(release: str = base.RELEASE) -> str:
    """Description of a floating IP of a Service."""
    return (
        "Floating IP for Kubernetes external service default/web "
        f"from cluster {release}"
    )


class LeftoversTestCase(deleting.DeletionTestCase):
    """A cluster whose machines are gone, with whatever a test adds."""

    def setUp(self) -> None:
        super().setUp()
        self.there = self.openstack.workloads

    def drained(self, **fields: Any) -> None:
        """Deleted, as far as its machines go."""
        self.created(**fields)
        self.delete()
        self.capi.drain()

    def reason(self) -> str:
        """What Magnum shows after one more poll."""
        self.poll()
        return str(self.row().status_reason)
