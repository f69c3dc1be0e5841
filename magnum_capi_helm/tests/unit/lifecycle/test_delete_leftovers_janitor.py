# SPDX-License-Identifier: Apache-2.0

"""Clean-ups that are left to cluster-api-janitor-openstack."""

from __future__ import annotations

from typing import Any

from magnum_capi_helm.config import conf
from magnum_capi_helm.kubernetes import kinds
from magnum_capi_helm.tests.unit.lifecycle import base
from magnum_capi_helm.tests.unit.lifecycle import deleting

JANITOR = "janitor.capi.stackhpc.com"
POLICY = "janitor.capi.stackhpc.com/volumes-policy"


class JanitorTest(deleting.LeftoversTestCase):
    """Where cluster-api-janitor-openstack runs, it is its work."""

    def set(self, **options: Any) -> None:
        """Options of ``[capi_helm]``."""
        for name, value in options.items():
            conf.CONF.set_override(name, value, "capi_helm")

    def janitor(self, *, done: bool = False) -> None:
        """The janitor takes care of the cluster, or is done with it."""
        self.server.patch(
            kinds.OPENSTACK_CLUSTER,
            base.NAMESPACE,
            base.RELEASE,
            {"metadata": {"finalizers": [] if done else [JANITOR]}},
        )

    def test_the_driver_leaves_it_to_the_janitor(self) -> None:
        self.there.balancer(deleting.WEB)
        self.created()
        self.janitor()
        self.delete()
        self.capi.drain()
        self.assertRegex(
            self.reason(),
            "^network still .*; cluster-api-janitor-openstack is not done",
        )
        self.assertEqual([], self.there.requests)

    def test_options_overrule_what_is_seen(self) -> None:
        for chosen, janitor, left in (
            ("driver", True, set()),
            ("none", False, {deleting.WEB}),
        ):
            self.set(cleanup=chosen)
            self.there.balancer(deleting.WEB)
            self.created()
            if janitor:
                self.janitor()
            self.delete()
            self.capi.drain()
            self.poll()
            self.there.settle()
            self.assertEqual(left, self.there.names(), chosen)
            self.janitor(done=True)
            self.finish()

    def test_the_janitor_learns_the_policy_for_volumes(self) -> None:
        for labels, expected in (
            ({}, None),
            ({"volumes_policy": "keep"}, "keep"),
            ({"volumes_policy": "delete"}, "delete"),
        ):
            self.created(labels=labels)
            self.janitor()
            self.delete()
            found = self.server.get(
                kinds.OPENSTACK_CLUSTER, base.NAMESPACE, base.RELEASE
            )
            assert found is not None
            notes = found["metadata"].get("annotations") or {}
            self.assertEqual(expected, notes.get(POLICY), labels)
            self.janitor(done=True)
            self.finish()

    def test_the_janitor_learns_the_policy_without_a_release(self) -> None:
        self.complete(labels={"volumes_policy": "keep"})
        self.server.delete(
            kinds.SECRET,
            base.NAMESPACE,
            f"sh.helm.release.v1.{base.RELEASE}.v1",
        )
        self.delete()
        self.poll()
        found = self.server.get(
            kinds.OPENSTACK_CLUSTER, base.NAMESPACE, base.RELEASE
        )
        assert found is not None
        self.assertEqual("keep", found["metadata"]["annotations"][POLICY])
