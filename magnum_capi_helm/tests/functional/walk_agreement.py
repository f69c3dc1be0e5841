# SPDX-License-Identifier: Apache-2.0

"""Whether Magnum's rows, helm's releases and the machines agree."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from keystoneauth1 import adapter

from magnum_capi_helm.kubernetes import client
from magnum_capi_helm.kubernetes import kinds
from magnum_capi_helm.model import names
from magnum_capi_helm.status import view
from magnum_capi_helm.tests.functional import walk_requests


class Agreement:
    """Compares clusters that nothing goes on with.

    :param namespace: of the releases
    :param images: ID -> version of Kubernetes that is in it
    """

    def __init__(
        self,
        plane: client.Client,
        namespace: str,
        images: Mapping[str, str],
    ) -> None:
        self._plane = plane
        self._namespace = namespace
        self._images = images
        #: Sentences about what does not agree.
        self.wrong: list[str] = []

    def check(self, right: Any, what: str) -> None:
        """Note ``what`` unless it is ``right``."""
        if not right:
            self.wrong.append(what)

    def compare(
        self,
        cluster: walk_requests.Cluster,
        row: dict[str, Any],
        groups: dict[str, dict[str, Any]],
    ) -> None:
        """Compare one.

        :param row: as Magnum shows it
        :param groups: its nodegroups, by name
        """
        what = f"{cluster.uuid} {row['status']} {row['status_reason']}"
        if row["status"].endswith("FAILED"):
            self.check(row["status_reason"], f"{what}: no reason")
            return
        self.check(not row["status_reason"], what)
        release = row["stack_id"]
        self._released(release, what)
        self._asked(cluster, groups, what)
        self._masters(row, release, groups, what)
        self._workers(release, groups, what)
        self._versions(release, groups, what)

    def _released(self, release: str, what: str) -> None:
        """The newest revision is deployed, and none is pending.

        An older one may say so, too: helm takes no notice when it can't mark
        it, and counts the newest (``pkg/storage/storage.go``).
        """
        records = self._plane.list(
            kinds.SECRET, self._namespace, f"owner=helm,name={release}"
        )
        states = [
            (int(labels["version"]), labels["status"])
            for labels in map(view.labels_of, records)
        ]
        right = max(states)[1] == "deployed" and not any(
            state.startswith("pending") for _, state in states
        )
        self.check(right, f"{what}: revisions {states}")

    def _asked(
        self, cluster: walk_requests.Cluster, groups: dict[str, Any], what: str
    ) -> None:
        """Nothing is there, or missing, that nobody asked for."""
        asked = {"default-master": cluster.masters, **cluster.counts}
        for name, group in groups.items():
            count = group["node_count"]
            self.check(
                count in asked.get(name, ()),
                f"{what}: {name} has {count}, asked {asked.get(name)}",
            )
            failed = group["status"].endswith("FAILED")
            self.check(
                not failed or group["status_reason"],
                f"{what}: {name} failed without a reason",
            )
        self.check(
            {"default-master", "default-worker"} <= set(groups),
            f"{what}: groups {sorted(groups)}",
        )

    def _masters(
        self,
        row: dict[str, Any],
        release: str,
        groups: dict[str, Any],
        what: str,
    ) -> None:
        live = self.live(kinds.CONTROL_PLANE, release)
        self.check(len(live) == 1, f"{what}: {len(live)} control planes")
        for each in live:
            spec = view.spec_of(each)
            wanted = groups["default-master"]["node_count"], row["coe_version"]
            found = spec["replicas"], spec["version"]
            self.check(wanted == found, f"{what}: {wanted} is {found}")

    def _workers(
        self, release: str, groups: dict[str, Any], what: str
    ) -> None:
        # A group that was refused is not in the release.
        wanted = {
            names.node_group(name, release): group["node_count"]
            for name, group in groups.items()
            if group["role"] != "master" and group["status"] != "CREATE_FAILED"
        }
        found = {
            view.name_of(each).removeprefix(f"{release}-"): (
                view.spec_of(each)["replicas"]
            )
            for each in self.live(kinds.MACHINE_DEPLOYMENT, release)
        }
        self.check(wanted == found, f"{what}: {wanted} is {found}")
        machines = len(self.live(kinds.MACHINE, release))
        total = sum(found.values()) + groups["default-master"]["node_count"]
        self.check(machines == total, f"{what}: {machines} machines, {total}")

    def live(self, kind: kinds.Kind, release: str) -> list[client.Object]:
        """Objects of one kind of a cluster."""
        selector = f"cluster.x-k8s.io/cluster-name={release}"
        return self._plane.list(kind, self._namespace, selector)

    def _versions(
        self, release: str, groups: dict[str, Any], what: str
    ) -> None:
        """Each machine has version and image of its own group."""
        wanted = {
            names.node_group(name, release): group["image_id"]
            for name, group in groups.items()
        }
        masters = groups["default-master"]["image_id"]
        servers = {
            view.name_of(each): view.spec_of(each)["image"]
            for each in self.live(kinds.OPENSTACK_MACHINE, release)
        }
        for each in self.live(kinds.MACHINE, release):
            spec = view.spec_of(each)
            owner = view.labels_of(each).get(
                "cluster.x-k8s.io/deployment-name", ""
            )
            image = wanted.get(owner.removeprefix(f"{release}-"), masters)
            known = self._images[image]
            found = (
                spec["version"],
                self._of_server(
                    servers.get(spec["infrastructureRef"]["name"], {})
                ),
            )
            self.check(
                found == (known, known),
                f"{what}: {view.name_of(each)} has {found}, not {known}",
            )

    def _of_server(self, image: dict[str, Any]) -> str:
        """The version in the image of a server."""
        return self._images.get(str(image.get("id")), str(image))


def images(keystone: Any) -> dict[str, str]:
    """Versions of Kubernetes by ID, and by name, of their images.

    :param keystone: a session
    """
    glance = adapter.Adapter(keystone, service_type="image")
    listed = glance.get("/v2/images").json()["images"]
    return {
        each[key]: f"v{each['kube_version'].removeprefix('v')}"
        for each in listed
        if each.get("kube_version")
        for key in ("id", "name")
    }


def server_groups(keystone: Any, mark: str) -> list[str]:
    """Names of server groups that have ``mark`` in them."""
    nova = adapter.Adapter(
        keystone, service_type="compute", default_microversion="2.64"
    )
    listed = nova.get("/os-server-groups").json()["server_groups"]
    return [each["name"] for each in listed if mark in each["name"]]
