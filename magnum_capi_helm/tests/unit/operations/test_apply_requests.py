# SPDX-License-Identifier: Apache-2.0

"""The requests that operations and polls send to a management cluster.

A row that is not needed any more goes; a new one says what it buys.
"""

from __future__ import annotations

from magnum_capi_helm import runtime
from magnum_capi_helm.tests.unit.lifecycle import base

_INTENT = "Secret web-1f639a523a52-intent"
_LEASE = "Lease web-1f639a523a52"
_CREDENTIAL = "Secret web-1f639a523a52-cloud-credentials"
#: What a poll shares with the polls of all other clusters.
_SHARED = (
    "list Cluster",
    "list KubeadmControlPlane",
    "list MachineDeployment",
    "list Machine",
    "list Secret",
)
_ADDONS = ("list HelmRelease", "list Manifests")
_SERVERS = (
    "list OpenStackCluster",
    "list OpenStackMachine",
    "list OpenStackServer",
)
_CREATE = (
    "get Namespace kube-system",
    "get Namespace magnum-fakeproject",
    "create Namespace magnum-fakeproject",
    # The driver's own access to a namespace that it has just made.
    "create SelfSubjectAccessReview",
    f"create {_LEASE}",
    # The credential's name is stored before Keystone makes the credential.
    f"apply {_CREDENTIAL}",
    "apply Secret web-1f639a523a52-ca",
    "apply Secret web-1f639a523a52-etcd",
    "apply Secret web-1f639a523a52-proxy",
    "apply Secret web-1f639a523a52-sa",
    f"apply {_CREDENTIAL}",
    f"create {_INTENT}",
    f"replace {_LEASE}",
)
#: The templates are compared with these.
_COMPARED = (
    "get Secret sh.helm.release.v1.web-1f639a523a52.v1",
    "get KubeadmControlPlane web-1f639a523a52-control-plane",
    "get Cluster web-1f639a523a52",
)
_RESIZE = (
    f"get {_INTENT}",
    "list Secret",
    *_COMPARED,
    f"get {_LEASE}",
    f"replace {_LEASE}",
    # Another conductor may have worked before the Lease was taken.
    "list Secret",
    f"get {_INTENT}",
    f"patch {_INTENT}",
    f"replace {_LEASE}",
)
_COMPLETING = (
    *_SHARED,
    *_ADDONS,
    f"get {_LEASE}",
    f"replace {_LEASE}",
    f"get {_INTENT}",
    # Nothing that was read before the Lease leads to COMPLETE.
    *_SHARED,
    *_ADDONS,
    "get Secret sh.helm.release.v1.web-1f639a523a52.v2",
    f"get {_CREDENTIAL}",
    # A deletion meanwhile.
    f"get {_LEASE}",
    f"replace {_LEASE}",
)
_GROUP = (
    # Is the cluster being deleted?
    f"get {_LEASE}",
    "get Namespace kube-system",
    f"get {_INTENT}",
    # Names of live groups are taken.
    *_SHARED,
    *_ADDONS,
    "list Secret",
    *_COMPARED,
    f"patch {_INTENT}",
    f"get {_LEASE}",
    f"get {_LEASE}",
    f"replace {_LEASE}",
    "list Secret",
    f"get {_INTENT}",
    f"patch {_INTENT}",
    f"replace {_LEASE}",
)


class SentTest(base.FlowTestCase):
    def begin(self) -> None:
        """Forget what was sent; operations share the look for a freeze."""
        runtime.get().maintenance.read()
        self.management.requests.clear()

    def sent(self) -> list[str]:
        requests = self.management.requests
        return [f"{e.verb} {e.kind} {e.name}".strip() for e in requests]

    def assert_sent(self, *expected: str) -> None:
        self.assertEqual(list(expected), self.sent())
        self.management.requests.clear()

    def test_a_create_sends_these_requests(self) -> None:
        self.management.requests.clear()
        self.create()
        # Some are sent side by side.
        self.assertEqual(sorted(_CREATE), sorted(self.sent()))

    def test_a_resize_sends_these_requests(self) -> None:
        self.complete()
        self.begin()
        self.resize(4)
        self.assert_sent(*_RESIZE)

    def test_a_new_nodegroup_sends_these_requests(self) -> None:
        self.complete()
        self.begin()
        self.add("more")
        self.assert_sent(*_GROUP)

    def test_polls_read_what_is_not_settled(self) -> None:
        self.complete()
        self.resize(4)
        self.management.requests.clear()
        self.poll()
        progress = "patch Cluster web-1f639a523a52"
        self.assert_sent(*_SHARED, *_SERVERS, *_ADDONS, progress)
        self.poll()
        self.assert_sent(*_SHARED, *_SERVERS, *_ADDONS)

    def test_a_poll_that_completes_sends_these_requests(self) -> None:
        self.complete()
        self.resize(4)
        self.capi.settle()
        self.management.requests.clear()
        self.poll()
        self.assert_sent(*_COMPLETING)
        self.poll()
        self.assert_sent(*_SHARED, *_ADDONS)
