# SPDX-License-Identifier: Apache-2.0
"""Complaints of helm on standard error become exceptions."""

from __future__ import annotations

from oslotest import base

from magnum_capi_helm.helm import complaints
from magnum_capi_helm.model import errors

_BACK = (
    "after a resize that failed, resize back to the count that it had before "
    "you upgrade: Magnum upgrades nothing that is UPDATE_FAILED"
)
#: What is told of them as it is.
TOLD: dict[type[errors.HelmError], tuple[str, ...]] = {
    errors.HelmBusy: (
        "another operation (install/upgrade/rollback) is in progress",
        'create: failed to create: secrets "sh.helm.release.v1.demo-1.v2" '
        "already exists",
    ),
    errors.HelmUnreachable: (
        'Kubernetes cluster unreachable: Get "https://api/version": dial tcp '
        "192.0.2.1:6443: connect: connection refused",
        "net/http: TLS handshake timeout",
        "dial tcp: lookup api.example.org: no such host",
        "context deadline exceeded",
        "context canceled",
        "read tcp: read: operation timed out",
        "connect: network is unreachable",
        "etcdserver: leader changed",
        "Internal error occurred: failed calling webhook "
        '"default.cluster.x-k8s.io": connect: no route to host',
        'create: failed to create: Post "https://api": EOF',
        "the server has asked for the client to provide credentials "
        "(post secrets)",
        "create: failed to create: Unauthorized",
        "the server is currently unable to handle the request",
        "the server has received too many requests",
        "unable to return a response in the time allotted",
        "Timeout: request did not complete within 34s",
        'an error ("") has prevented the request from succeeding',
        "http2: client connection lost",
        "write: broken pipe",
        "dial tcp 192.0.2.1:6443: connect: no route to host",
        'clusters "c": the object has been modified',
        "unable to build kubernetes objects from current release manifest: "
        "Get https://api: i/o timeout",
    ),
    errors.HelmError: (
        "create: failed to create: etcdserver: request is too large",
        '"demo-1" has no deployed releases',
        'cannot patch: admission webhook "validation.kubeadmcontrolplane" '
        "denied the request: spec.replicas: Forbidden: cannot be an even "
        "number",
        "conflict occurred while applying object: Apply failed with 1 "
        "conflict",
        "rendered manifests contain a resource that already exists",
    ),
    errors.ChartUnavailable: (
        'chart "openstack-cluster" version "9.9.9" not found in '
        "https://charts.example.org repository",
        "failed to fetch https://charts/c-1.tgz : 404 Not Found",
    ),
    errors.ReleaseStranded: (
        "current release manifest contains removed kubernetes api(s) for "
        "this kubernetes version and it is therefore unable to build the "
        "kubernetes objects for performing the diff. error from kubernetes: "
        'unable to recognize "": no matches for kind "A" in version "b/v1"',
        "failed to delete release: demo-1",
    ),
    errors.Unconvertible: (
        "error while running post render on files: failed to invoke "
        'post-renderer plugin "magnum-capi-helm": plugin "magnum-capi-helm" '
        "exited with error",
    ),
}
#: What helm complains of -> class and text.
COMPLAINTS: list[tuple[str, type[errors.HelmError], str]] = [
    *(
        (f"Error: {failed}{text}", kind, text)
        for kind, texts in TOLD.items()
        for text in texts
        for failed in ("", "UPGRADE FAILED: ")
    ),
    (
        "I1121 19:21:11.056413   18485 warnings.go:107] "
        '"Warning: cluster.x-k8s.io/v1beta1 Cluster is deprecated"\n'
        "Error: UPGRADE FAILED: cannot patch: denied",
        errors.HelmError,
        "cannot patch: denied",
    ),
    (
        "coalesce.go:319: warning: destination for registryMirrors is a "
        "table. Ignoring non-table value\nWARNING: group-readable\n"
        "Error: no image",
        errors.HelmError,
        "no image",
    ),
    (
        "Error: values don't meet the specifications of the schema(s) in "
        "the following chart(s):\nopenstack-cluster:\n- (root): x is required",
        errors.HelmError,
        "values don't meet the specifications of the schema(s) in the "
        "following chart(s): openstack-cluster: - (root): x is required",
    ),
    (
        "Error: execution error at (c/templates/a.yaml:1:2): no image",
        errors.HelmError,
        "(c/templates/a.yaml:1:2): no image",
    ),
    (
        "Error: UPGRADE FAILED: unable to build kubernetes objects from "
        'current release manifest: resource mapping not found for name: "c" '
        'namespace: "n" from "": no matches for kind "OpenStackCluster" in '
        'version "infrastructure.cluster.x-k8s.io/v1alpha7"\n'
        "ensure CRDs are installed first",
        errors.ReleaseStranded,
        "unable to build kubernetes objects from current release manifest: "
        'resource mapping not found for name: "c" namespace: "n" from "": no '
        'matches for kind "OpenStackCluster" in version '
        '"infrastructure.cluster.x-k8s.io/v1alpha7" ensure CRDs are installed '
        "first",
    ),
    (
        "Error: UPGRADE FAILED: unable to build kubernetes objects from new "
        'release manifest: no matches for kind "A" in version "b/v1"',
        errors.ChartStranded,
        "the chart makes objects of b/v1, which the management cluster does "
        "not serve: it takes another chart, or a management cluster that "
        f"serves this again; {_BACK}",
    ),
    (
        "Error: UPGRADE FAILED: ["
        + ", ".join(
            f'resource mapping not found for name: "shop-{each}" namespace: '
            f'"" from "": no matches for kind "{each}" in version "{version}"'
            "\nensure CRDs are installed first"
            for each, version in (
                ("MachineHealthCheck", "cluster.x-k8s.io/v1beta1"),
                (
                    "KubeadmConfigTemplate",
                    "bootstrap.cluster.x-k8s.io/v1beta1",
                ),
                ("Cluster", "cluster.x-k8s.io/v1beta1"),
                ("MachineDeployment", "cluster.x-k8s.io/v1beta1"),
            )
        )
        + "]",
        errors.ChartStranded,
        "the chart makes objects of bootstrap.cluster.x-k8s.io/v1beta1, "
        "cluster.x-k8s.io/v1beta1, which the management cluster does not "
        "serve: it takes another chart, or a management cluster that serves "
        f"this again; {_BACK}",
    ),
    (
        "Error: UPGRADE FAILED: error while running post render on files: "
        "error while running command /usr/bin/python3. error output:\n"
        "Cluster web-1 can't be written\n: exit status 1",
        errors.Unconvertible,
        "error while running post render on files: error while running "
        "command /usr/bin/python3. error output: Cluster web-1 can't be "
        "written : exit status 1",
    ),
    (
        "WARNING: Kubernetes configuration file is group-readable\n"
        "Error: UPGRADE FAILED: no matches for kind",
        errors.HelmError,
        "no matches for kind",
    ),
    ("", errors.HelmError, "failed"),
]


class ComplaintsTest(base.BaseTestCase):
    def test_each_complaint_has_its_class_and_one_line(self) -> None:
        for text, kind, sentence in COMPLAINTS:
            error = complaints.translated("upgrade", text.encode())
            self.assertIs(kind, type(error), text)
            self.assertEqual(f"helm upgrade: {sentence}", str(error))
