# SPDX-License-Identifier: Apache-2.0

"""What the ``openstack-cluster`` chart makes of values, in short.

Kinds, names, labels and template names as of the real chart; of the specs,
the fields that the driver reads.
"""

from __future__ import annotations

from collections.abc import Mapping
import hashlib
import io
import json
import tarfile
from typing import Any

from magnum_capi_helm.kubernetes import kinds
from magnum_capi_helm.model import names
from magnum_capi_helm.status import view
from magnum_capi_helm.tests.fakes import api_server

KEEP = {"helm.sh/resource-policy": "keep"}

#: Default values of the addons, in short.
ADDONS: dict[str, Any] = {
    "cni": {
        "type": "calico",
        "calico": {
            "chart": {
                "repo": "https://calico.example.org/charts",
                "name": "tigera-operator",
                "version": "v3.31.5",
            }
        },
    },
    "etcdDefrag": {
        "chart": {
            "repo": "https://charts.example.org",
            "name": "etcd-defrag",
            "version": None,
        }
    },
}


def package(
    name: str,
    version: str,
    values: Mapping[str, Any] | None = None,
    subcharts: Mapping[str, Mapping[str, Any]] | None = None,
) -> bytes:
    """A packaged chart; each sub-chart is its default values by its name."""
    files: dict[str, object] = {
        "Chart.yaml": {"name": name, "version": version},
        "values.yaml": dict(values or {}),
    }
    for each, inner in (subcharts or {}).items():
        about = {"name": each, "version": version}
        files[f"charts/{each}/Chart.yaml"] = about
        files[f"charts/{each}/values.yaml"] = dict(inner)
    return archive(
        {
            f"{name}/{path}": json.dumps(content).encode()
            for path, content in files.items()
        }
    )


def archive(files: Mapping[str, bytes]) -> bytes:
    """A gzipped tar archive."""
    made = io.BytesIO()
    with tarfile.open(fileobj=made, mode="w:gz") as tar:
        for path, content in files.items():
            member = tarfile.TarInfo(path)
            member.size = len(content)
            tar.addfile(member, io.BytesIO(content))
    return made.getvalue()


def render(
    release: str,
    namespace: str,
    values: dict[str, Any],
    build: Mapping[str, str] | None = None,
) -> list[api_server.Object]:
    """The manifest of a release.

    :param build: what a build of the chart does otherwise than the others:
        the chart's name of a nodegroup, or ``control-plane``, and a command
        that its machines run; ``renamed`` and a nodegroup whose object has
        another name
    """
    made = _Maker(release, namespace, build or {})
    return [
        made.make(
            kinds.CLUSTER,
            release,
            {"infrastructureRef": {"name": release}},
            values.get("clusterAnnotations") or {},
        ),
        made.make(
            kinds.OPENSTACK_CLUSTER,
            release,
            _balancer(values),
            KEEP,
        ),
        *_control_plane(made, values),
        *(
            each
            for group in values.get("nodeGroups") or []
            for each in _group(
                made, group, values.get("nodeGroupDefaults") or {}
            )
        ),
        *_addons(made, values),
        *_autoscaler(made, values),
    ]


def _autoscaler(
    made: _Maker, values: dict[str, Any]
) -> list[api_server.Object]:
    """The autoscaler, which is soon ready."""
    if not any(e.get("autoscale") for e in values.get("nodeGroups") or []):
        return []
    name = names.autoscaler(made.release)
    ready = {"conditions": [{"type": "Available", "status": "True"}]}
    objects = (
        {"kind": "Role", "apiVersion": "rbac.authorization.k8s.io/v1"},
        {"kind": "Deployment", "apiVersion": "apps/v1", "status": ready},
    )
    found = [
        {**made.make(kinds.DEPLOYMENT, name, {}), **each} for each in objects
    ]
    for each in found:
        each["metadata"]["labels"]["capi.stackhpc.com/component"] = (
            "autoscaler"
        )
    return found


def _balancer(values: dict[str, Any]) -> dict[str, Any]:
    """The API's load balancer, as the chart renders it."""
    enabled = values.get("apiServer", {}).get("enableLoadBalancer", True)
    return {"apiServerLoadBalancer": {"enabled": enabled}}


class _Maker:
    def __init__(
        self, release: str, namespace: str, build: Mapping[str, str]
    ) -> None:
        self.release = release
        self.build = build
        self._namespace = namespace

    def make(
        self,
        kind: kinds.Kind,
        name: str,
        spec: dict[str, Any],
        annotations: dict[str, str] | None = None,
    ) -> api_server.Object:
        return {
            "apiVersion": f"{kind.group}/{kind.versions[-1]}",
            "kind": kind.name,
            "metadata": {
                "name": name,
                "namespace": self._namespace,
                "labels": {view.CHART_CLUSTER_LABEL: self.release},
                "annotations": annotations or {},
            },
            "spec": spec,
        }

    def hashed(self, component: str, content: object) -> str:
        text = json.dumps(content, sort_keys=True).encode()
        digest = hashlib.sha256(text).hexdigest()[:8]
        return f"{names.chart_object(self.release, component)}-{digest}"


def _control_plane(
    made: _Maker, values: dict[str, Any]
) -> list[api_server.Object]:
    own = values["controlPlane"]
    machine = _machine(own, values)
    template = made.hashed("control-plane", machine)
    spec = {
        "replicas": own["machineCount"],
        "version": _version(own, values),
        "machineTemplate": {"infrastructureRef": {"name": template}},
    }
    commands = (own.get("kubeadmConfigSpec") or {}).get(
        "postKubeadmCommands"
    ) or []
    if built := made.build.get("control-plane"):
        commands = [*commands, built]
    if commands:
        spec["kubeadmConfigSpec"] = {"postKubeadmCommands": commands}
    name = names.control_plane(made.release)
    return [
        made.make(kinds.CONTROL_PLANE, name, spec, KEEP),
        made.make(kinds.OPENSTACK_MACHINE_TEMPLATE, template, machine, KEEP),
    ]


def _group(
    made: _Maker, group: dict[str, Any], defaults: dict[str, Any]
) -> list[api_server.Object]:
    machine = _machine(group, {})
    template = made.hashed(group["name"], machine)
    setup = [
        made.build.get(group["name"]),
        group.get("nodeLabels"),
        group.get("kubeadmConfigSpec"),
        defaults.get("kubeadmConfigSpec"),
    ]
    config = made.hashed(group["name"], setup) if any(setup) else template
    spec: dict[str, Any] = {
        "clusterName": made.release,
        "template": {
            "spec": {
                "version": _version(group, {}),
                "infrastructureRef": {"name": template},
                "bootstrap": {"configRef": {"name": config}},
            }
        },
    }
    name = group["name"]
    if made.build.get("renamed") == name:
        name = f"{name}-renamed"
    annotations = {}
    if group.get("autoscale"):
        bounds = map(str, (group["machineCountMin"], group["machineCountMax"]))
        keys = (view.AUTOSCALER_MINIMUM, view.AUTOSCALER_ANNOTATION)
        annotations = dict(zip(keys, bounds, strict=True))
    else:
        spec["replicas"] = group["machineCount"]
    deployment = made.make(
        kinds.MACHINE_DEPLOYMENT,
        names.machine_deployment(made.release, name),
        spec,
        annotations,
    )
    labels = deployment["metadata"]["labels"]
    labels["capi.stackhpc.com/node-group"] = group["name"]
    return [
        deployment,
        made.make(kinds.OPENSTACK_MACHINE_TEMPLATE, template, machine, KEEP),
        made.make(kinds.CONFIG_TEMPLATE, config, {}, KEEP),
    ]


def _machine(
    group: dict[str, Any], defaults: dict[str, Any]
) -> dict[str, Any]:
    image = group.get("machineImageId") or defaults.get("machineImageId")
    spec = {"flavor": group["machineFlavor"], "image": {"id": image}}
    return {"template": {"spec": spec}}


def _version(group: dict[str, Any], defaults: dict[str, Any]) -> str:
    found = group.get("kubernetesVersion") or defaults.get("kubernetesVersion")
    return f"v{found}"


def _addons(made: _Maker, values: dict[str, Any]) -> list[api_server.Object]:
    addons = values.get("addons") or {}
    cni = (addons.get("cni") or {}).get("type")
    ccm = (addons.get("openstack") or {}).get("ccm") or {}
    given = {"ccm-openstack": {"valuesSources": [ccm]}} if ccm else {}
    components = (f"cni-{cni or 'calico'}", "ccm-openstack", "csi-cinder")
    return [
        *(
            made.make(
                kinds.HELM_RELEASE,
                names.chart_object(made.release, component),
                {
                    "clusterName": made.release,
                    "chart": {
                        "repo": "https://charts.example.org",
                        "name": component,
                        "version": "1.0.0",
                    },
                    **given.get(component, {}),
                },
            )
            for component in components
        ),
        made.make(
            kinds.MANIFESTS,
            names.chart_object(made.release, "cloud-config"),
            {"clusterName": made.release},
        ),
    ]
