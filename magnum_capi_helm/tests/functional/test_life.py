# SPDX-License-Identifier: Apache-2.0

"""One cluster from create to delete, as clients of all versions see it."""

from __future__ import annotations

import pathlib
from typing import Any

from keystoneauth1 import adapter
from keystoneauth1 import exceptions as ka_exceptions

from magnum_capi_helm.kubernetes import kinds
from magnum_capi_helm.tests.functional import magnum_api
from magnum_capi_helm.tests.functional import test_certificates

#: Fields that a version of the API has, and the one before has not.
_CLUSTER_ID = "1.13"
_ZERO_NODES = "1.10"
_NODEGROUPS = "1.9"


class LifeTest(test_certificates.DatabaseCase):
    """What Magnum's API adds and renames, on a cluster of the driver."""

    def setUp(self) -> None:
        super().setUp()
        api = adapter.Adapter(
            self.magnum.session, service_type="container-infra"
        )
        root = str(api.get_endpoint()).removesuffix("v1")
        [found] = self.magnum.session.get(root).json()["versions"]
        self.newest = str(found["max_version"])

    def at(self, version: str) -> magnum_api.Magnum:
        """A client that asks for one version of the API."""
        return magnum_api.Magnum(
            self.magnum.session, f"container-infra {version}"
        )

    def supported(self, version: str) -> bool:
        """Whether this Magnum has the version."""
        return _number(version) <= _number(self.newest)

    def test_create_use_change_delete_leaves_nothing(self) -> None:
        cluster = self.cluster(
            self.template(), magnum=self.at("1.1"), name=self.unique("old")
        )
        made = self.until_status(cluster, ("CREATE_COMPLETE", "CREATE_FAILED"))
        self.assertEqual(
            ("CREATE_COMPLETE", None), (made["status"], made["status_reason"])
        )
        release = made["stack_id"]
        self._has_no_more_rights_than_the_user(cluster)
        self._has_its_own_service_account_key(release)
        self._release_of(cluster, release)
        self._counts(cluster)
        config = self.use(cluster)
        self._resizes(cluster, config)
        self._no_nodes(cluster)
        self._nodegroups(cluster)
        self.leave(cluster)
        self.assert_all_gone(release)
        self.assertEqual([], self.credentials_of(cluster))

    def _has_no_more_rights_than_the_user(self, cluster: str) -> None:
        (credential,) = self.credentials_of(cluster)
        self.assertEqual(
            ["member", "reader"],
            sorted(role["name"] for role in credential["roles"]),
        )
        self.assertFalse(credential["unrestricted"])

    def _has_its_own_service_account_key(self, release: str) -> None:
        keys = [
            self.plane.get(kinds.SECRET, self.namespace, f"{release}-{each}")
            for each in ("ca", "etcd", "proxy", "sa")
        ]
        self.assertEqual(
            4, len({each["data"]["tls.key"] for each in keys if each})
        )

    def _release_of(self, cluster: str, release: str) -> None:
        """``stack_id`` is called ``cluster_id`` from 1.13 on."""
        for version in ("1.1", "1.8", "1.9", "1.12", "1.13", "1.14"):
            if not self.supported(version):
                continue
            found = self.at(version).find(cluster) or {}
            renamed = _number(version) >= _number(_CLUSTER_ID)
            name, other = (
                ("cluster_id", "stack_id")
                if renamed
                else ("stack_id", "cluster_id")
            )
            self.assertEqual(release, found[name], version)
            self.assertNotIn(other, found, version)
            self.assertEqual("CREATE_COMPLETE", found["status"], version)

    def _counts(self, cluster: str) -> None:
        for version in ("1.1", self.newest):
            found = self.at(version).find(cluster) or {}
            self.assertEqual(1, found["node_count"])
            self.assertEqual(1, found["master_count"])
            self.assertEqual(1, len(found["node_addresses"]), version)
            self.assertEqual(1, len(found["master_addresses"]), version)
            self.assertEqual("v1.34.2", found["coe_version"], version)

    def _resizes(self, cluster: str, config: pathlib.Path) -> None:
        """A PATCH at first, an action of its own from 1.7 on."""
        self.refused("1.6", "POST", f"/clusters/{cluster}/actions/resize")
        self.at("1.1").call(
            "PATCH",
            f"/clusters/{cluster}",
            [{"op": "replace", "path": "/node_count", "value": 2}],
        )
        self.settled(cluster, 2)
        self.assertEqual(
            ["True"] * 3, [_ready(node) for node in self.kubectl(config)]
        )
        self.assertEqual(
            {
                "default-master": ("CREATE_COMPLETE", 1),
                "default-worker": ("UPDATE_COMPLETE", 2),
            },
            {
                name: (group["status"], len(group["node_addresses"]))
                for name, group in self.magnum.nodegroups(cluster).items()
            },
        )

    def _no_nodes(self, cluster: str) -> None:
        path = f"/clusters/{cluster}/actions/resize"
        self.refused("1.9", "POST", path, {"node_count": 0})
        self.at(_ZERO_NODES).call("POST", path, {"node_count": 0})
        self.settled(cluster, 0)

    def _nodegroups(self, cluster: str) -> None:
        path = f"/clusters/{cluster}/nodegroups"
        self.refused("1.8", "GET", path)
        made = self.at(_NODEGROUPS).call(
            "POST", path, {"name": "extra", "node_count": 1}
        )
        self.settled(cluster, 1)
        for version in (_NODEGROUPS, self.newest):
            found = self.at(version).call("GET", f"{path}/{made['uuid']}")
            self.assertEqual("CREATE_COMPLETE", found["status"], version)
            self.assertEqual(1, len(found["node_addresses"]), version)
        self._labels(cluster, f"{path}/{made['uuid']}")

    def _labels(self, cluster: str, group: str) -> None:
        """Labels and taints of nodes are of 1.14."""
        found = self.at(self.newest).call("GET", group)
        if "node_labels" not in found:
            return
        self.at(self.newest).call(
            "PATCH",
            group,
            [{"op": "replace", "path": "/max_node_count", "value": 3}],
        )
        self.settled(cluster, 1)
        found = self.at(self.newest).call("GET", group)
        self.assertEqual(3, found["max_node_count"])
        self.assertEqual({}, found["node_labels"])
        self.assertEqual([], found["node_taints"])

    def refused(
        self, version: str, method: str, path: str, body: Any = None
    ) -> None:
        """A version does not know a request."""
        self.assertRaises(
            ka_exceptions.HttpError, self.at(version).call, method, path, body
        )

    def settled(self, cluster: str, count: int) -> None:
        """The cluster got there, as the oldest and the newest say."""
        self.until_status(cluster, ("UPDATE_IN_PROGRESS",), 30)
        self.until_status(cluster, ("UPDATE_COMPLETE",))
        for version in ("1.1", self.newest):
            found = self.at(version).find(cluster) or {}
            self.assertEqual(count, found["node_count"], version)


def _number(version: str) -> tuple[int, ...]:
    return tuple(map(int, version.split(".")))


def _ready(node: dict[str, Any]) -> str:
    """Return the status of the condition Ready."""
    conditions = node["status"]["conditions"]
    return "".join(c["status"] for c in conditions if c["type"] == "Ready")
