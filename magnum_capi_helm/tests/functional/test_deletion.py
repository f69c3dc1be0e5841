# SPDX-License-Identifier: Apache-2.0

"""Deletion: what it takes along, and from where it gets to its end."""

from __future__ import annotations

from typing import Any

from magnum_capi_helm.kubernetes import kinds
from magnum_capi_helm.model import names
from magnum_capi_helm.tests.functional import base
from magnum_capi_helm.tests.functional import project

_ADDRESS = "Floating IP for Kubernetes external service x/y from cluster "
#: A user marks a volume that is to stay.
_KEPT = {"janitor.capi.azimuth-cloud.com/keep": "true"}


class LeftoversTest(base.LabCase):
    """What Kubernetes made in the project, as its controllers name it."""

    def test_what_services_made_goes_and_what_others_made_stays(self) -> None:
        cluster = self.cluster(
            self.template(), labels={"volumes_policy": "delete"}
        )
        release = str(
            self.until_status(cluster, ("CREATE_COMPLETE",))["stack_id"]
        )
        cloud = project.Project(self)
        own = self._of_services(cloud, release)
        others = self._of_others(cloud, release)

        self.delete(cluster)

        for path, made in own:
            self.assertFalse(cloud.there(*path, made), f"{path} {made}")
        for path, made in others:
            self.assertTrue(cloud.there(*path, made), f"{path} {made}")
        self.assert_all_gone(release, [made["id"] for _, made in others])
        self.assertEqual([], self.credentials_of(cluster))

    def _of_services(
        self, cloud: project.Project, release: str
    ) -> list[tuple[tuple[str, str], Any]]:
        """Return what goes, in the network that CAPO made."""
        vip = {"vip_subnet_id": cloud.subnet_of(release)["id"]}
        web = cloud.balancer(f"kube_service_{release}_default_web", **vip)
        address = cloud.address(
            f"{_ADDRESS}{release}", port_id=web["vip_port_id"]
        )
        group = cloud.group(
            f"Security Group for x/y Service LoadBalancer in cluster {release}"
        )
        volume = cloud.volume(release)
        return [
            (project.BALANCERS, web),
            (
                project.BALANCERS,
                cloud.balancer(f"kube_service_{release}_default_db", **vip),
            ),
            (project.ADDRESSES, address),
            (project.GROUPS, group),
            (project.VOLUMES, volume),
            (project.SNAPSHOTS, cloud.snapshot(volume, release)),
        ]

    def _of_others(
        self, cloud: project.Project, release: str
    ) -> list[tuple[tuple[str, str], Any]]:
        """Return what stays, some of it named almost alike."""
        vip = {"vip_subnet_id": cloud.network(self.unique("other"))["id"]}
        return [
            (
                project.BALANCERS,
                cloud.balancer(f"kube_service_{release}-b_x_y", **vip),
            ),
            (project.ADDRESSES, cloud.address(f"{_ADDRESS}{release}-b")),
            (project.ADDRESSES, cloud.address("of the user")),
            (project.VOLUMES, cloud.volume(f"{release}-b")),
            (project.VOLUMES, cloud.volume(release, **_KEPT)),
        ]


class HandsOffTest(base.LabCase):
    """Deletions that do not begin with everything in its place."""

    def test_right_after_the_create_with_volumes(self) -> None:
        """From CREATE_IN_PROGRESS; the label takes the volumes along."""
        cluster = self.cluster(
            self.template(), labels={"volumes_policy": "delete"}
        )
        release = str(
            self.until(
                lambda: (self.magnum.find(cluster) or {}).get("stack_id"), 60
            )
        )
        found = self.magnum.find(cluster) or {}
        self.assertEqual("CREATE_IN_PROGRESS", found["status"])
        cloud = project.Project(self)
        volume = cloud.volume(release)
        other = cloud.volume(f"{release}-b")
        self.delete(cluster)
        self.assertFalse(cloud.there(*project.VOLUMES, volume))
        self.assertTrue(cloud.there(*project.VOLUMES, other))
        self.assert_all_gone(release, [other["id"]])
        self.assertEqual([], self.credentials_of(cluster))

    def test_with_most_of_it_removed_by_hand(self) -> None:
        cluster = self.cluster(self.template())
        release = str(
            self.until_status(cluster, ("CREATE_COMPLETE",))["stack_id"]
        )
        for secret in self.plane.list(
            kinds.SECRET, self.namespace, f"owner=helm,name={release}"
        ):
            self._remove(kinds.SECRET, secret["metadata"]["name"])
        for name in (
            names.desired_state(release),
            names.server_groups(release),
        ):
            self._remove(kinds.SECRET, name)
        self._remove(kinds.LEASE, release)
        self._remove(kinds.CLUSTER, release)
        self.until(
            lambda: (
                self.plane.get(kinds.CLUSTER, self.namespace, release) is None
            ),
            120,
        )
        self._remove(kinds.SECRET, names.credentials(release))
        self.delete(cluster)
        self.assert_all_gone(release)

    def _remove(self, kind: kinds.Kind, name: str) -> None:
        self.plane.delete(kind, self.namespace, name)
