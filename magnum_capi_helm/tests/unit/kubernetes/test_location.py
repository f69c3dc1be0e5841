# SPDX-License-Identifier: Apache-2.0

"""Namespace and labels of a cluster's objects."""

from __future__ import annotations

from magnum_capi_helm.kubernetes import location
from magnum_capi_helm.tests.unit.lifecycle import base


class LocationTest(base.FlowTestCase):
    def test_the_prefix_of_the_namespace_is_the_operators(self) -> None:
        self.set_option(namespace_prefix="cloud-2")
        self.assertEqual(
            "cloud-2-fakeproject", location.namespace("fake_project")
        )

    def test_labels_name_project_user_and_cluster(self) -> None:
        self.assertEqual(
            {
                "magnum.openstack.org/project-id": "fake_project",
                "magnum.openstack.org/user-id": "fake_user",
                "magnum.openstack.org/cluster-uuid": base.UUID,
                "cluster.x-k8s.io/cluster-name": base.RELEASE,
            },
            location.object_labels(self.saved(), base.RELEASE),
        )
