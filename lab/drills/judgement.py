# SPDX-License-Identifier: Apache-2.0
"""What a COMPLETE claims, against live objects, in plain words.

Nothing of the driver's own judgement is used here.
"""

from __future__ import annotations

import base64
from collections.abc import Iterator, Mapping, Sequence
import dataclasses
import gzip
import hashlib
import itertools
import json
from typing import Any

import yaml

from magnum_capi_helm.cloud import credential_secret
from magnum_capi_helm.model import names

Object = dict[str, Any]
_CLONED = "cluster.x-k8s.io/cloned-from-name"
_PAUSED = "cluster.x-k8s.io/paused"
_DEPLOYMENT = "cluster.x-k8s.io/deployment-name"
#: Fields of an addon that need no new release.
_UNUSED = ("bootstrap", "lifecycleHooks", "paused", "releaseTimeout")
_SOURCES = ("valuesSources", "manifestSources")
ADDONS = ("HelmRelease", "Manifests")


@dataclasses.dataclass(frozen=True)
class Snapshot:
    """One moment of a cluster.

    :param objects: of the management cluster, by kind and name
    :param record: the newest Secret of helm
    :param nodes: of the users' cluster, by name
    :param servers: of Nova, by name
    :param installed: the content that the addon provider installed, by UID
    :param config: data of the Secret cloud-config in the users' cluster
    """

    objects: Mapping[str, Mapping[str, Object]]
    record: Object
    nodes: Mapping[str, Object]
    servers: Mapping[str, Object]
    installed: Mapping[str, str]
    config: Mapping[str, str]


@dataclasses.dataclass(frozen=True)
class Group:
    """A group as its row wants it, and its live owner of machines.

    :param image: ID
    """

    row: Object
    owner: Object
    machines: Mapping[str, Object]
    version: str
    image: str


class Judge:
    """Compares rows with snapshots.

    :param images: name or ID -> ID and version of Kubernetes
    :param texts: ID of a template -> text that the values of an addon have
    """

    def __init__(
        self, images: Mapping[str, tuple[str, str]], texts: Mapping[str, str]
    ) -> None:
        self._images = images
        self._texts = texts

    def of(self, name: str, rows: Object, seen: Snapshot) -> list[str]:
        """Return what is not as it has to be.

        :param name: of a complete nodegroup; empty: the cluster is complete
        """
        release = rows["cluster"]["stack_id"]
        if name:
            (row,) = (e for e in rows["groups"] if e["name"] == name)
            return list(_of_group(self._group(row, release, seen), seen))
        groups = [e for e in rows["groups"] if e["status"] != "CREATE_FAILED"]
        found = [self._group(each, release, seen) for each in groups]
        every = {n for each in found for n in each.machines}
        owners = {each.owner["metadata"]["name"] for each in found}
        wrong = [*_strangers("Machine", every, seen)]
        wrong += _strangers("OpenStackMachine", every, seen)
        wrong += _strangers("OpenStackServer", every, seen)
        wrong += _strangers("MachineDeployment", owners, seen)
        wrong += [f"server {n}: extra" for n in seen.servers if n not in every]
        wrong += [f"node {n}: extra" for n in seen.nodes if n not in every]
        wrong += [text for each in found for text in _of_group(each, seen)]
        wrong += _paused(seen)
        wrong += _addons(seen)
        wrong += _of_helm(seen)
        return [*wrong, *self._values(rows, seen)]

    def _group(self, row: Object, release: str, seen: Snapshot) -> Group:
        kind, name = "KubeadmControlPlane", names.control_plane(release)
        if row["role"] != "master":
            kind = "MachineDeployment"
            short = names.node_group(row["name"], release)
            name = names.machine_deployment(release, short)
        machines = {
            key: each
            for key, each in seen.objects["Machine"].items()
            if each["metadata"]["labels"].get(_DEPLOYMENT)
            == (None if row["role"] == "master" else name)
        }
        owner = seen.objects[kind].get(name) or {"metadata": {"name": name}}
        image, version = self._images[row["image_id"]]
        return Group(row, owner, machines, version, image)

    def _values(self, rows: Object, seen: Snapshot) -> Iterator[str]:
        text = self._texts[rows["cluster"]["cluster_template_id"]]
        secrets = seen.objects["Secret"].values()
        if not any(text in e for each in secrets for e in _data(each)):
            yield f"no addon has the value {text}"


def _strangers(kind: str, known: set[str], seen: Snapshot) -> Iterator[str]:
    for name in seen.objects[kind].keys() - known:
        yield f"{kind} {name}: extra"


def _of_group(group: Group, seen: Snapshot) -> Iterator[str]:
    owner = group.owner.get("spec")
    title = f"{group.row['name']}: "
    if owner is None:
        yield f"{title}no object"
        return
    wanted = group.row["node_count"]
    if (owner["replicas"], len(group.machines)) != (wanted, wanted):
        yield (
            f"{title}{wanted} wanted, {owner['replicas']} replicas,"
            f" {len(group.machines)} machines"
        )
    kind = "machineTemplate" if group.row["role"] == "master" else "template"
    template = owner[kind]["spec"]
    version = template.get("version", owner.get("version"))
    if version != group.version:
        yield f"{title}{group.version} wanted, {version} in the template"
    for name, machine in group.machines.items():
        for text in (
            *_of_machine(machine, template, group, seen),
            *_of_node(machine, group, seen),
            *_of_server(name, machine, group, seen),
        ):
            yield f"{title}{name}: {text}"


def _of_machine(
    machine: Object, template: Object, group: Group, seen: Snapshot
) -> Iterator[str]:
    spec = machine["spec"]
    if "deletionTimestamp" in machine["metadata"]:
        yield "Machine is deleting"
    if spec["version"] != group.version:
        yield f"{group.version} wanted, is {spec['version']}"
    pairs = [("OpenStackMachine", "infrastructureRef", template)]
    if "bootstrap" in template:
        pairs.append(("KubeadmConfig", "configRef", template["bootstrap"]))
    for kind, field, refers in pairs:
        own = spec if field in spec else spec["bootstrap"]
        found = seen.objects[kind].get(own[field]["name"])
        notes = found["metadata"].get("annotations", {}) if found else {}
        wanted = refers[field]["name"]
        if notes.get(_CLONED) != wanted:
            yield f"{kind} of {notes.get(_CLONED)}, not of {wanted}"


def _of_node(machine: Object, group: Group, seen: Snapshot) -> Iterator[str]:
    name = machine["status"].get("nodeRef", {}).get("name")
    node = seen.nodes.get(name)
    if node is None:
        yield f"no node {name}"
        return
    version = node["status"]["nodeInfo"]["kubeletVersion"]
    if version != group.version:
        yield f"kubelet {version}, not {group.version}"
    conditions = node["status"]["conditions"]
    if {"Ready": "True"}.items() - {
        e["type"]: e["status"] for e in conditions
    }.items():
        yield "node is not ready"
    if "deletionTimestamp" in node["metadata"]:
        yield "node is deleting"


def _of_server(
    name: str, machine: Object, group: Group, seen: Snapshot
) -> Iterator[str]:
    wanted = group.row["flavor_id"], group.image
    called = machine["spec"]["infrastructureRef"]["name"]
    for kind in ("OpenStackMachine", "OpenStackServer"):
        found = seen.objects[kind].get(called)
        if found is None or "deletionTimestamp" in found["metadata"]:
            yield f"{kind} is gone"
            continue
        is_ = found["spec"]["flavor"], found["spec"]["image"]["id"]
        if is_ != wanted:
            yield f"{kind} has {is_}, not {wanted}"
    server = seen.servers.get(called)
    if server is None or server["status"] != "ACTIVE":
        yield "Nova has no active server"
        return
    is_ = server["flavor"]["original_name"], server["image"]["id"]
    if is_ != wanted:
        yield f"Nova's server has {is_}, not {wanted}"


def _paused(seen: Snapshot) -> Iterator[str]:
    for kind, objects in seen.objects.items():
        for name, each in objects.items():
            notes = each["metadata"].get("annotations", {})
            if _PAUSED in notes or each.get("spec", {}).get("paused"):
                yield f"{kind} {name}: paused"


def _identity(seen: Snapshot) -> Object:
    """Return the Secret with the credential."""
    [infra] = seen.objects["OpenStackCluster"].values()
    name = infra["spec"]["identityRef"]["name"]
    secret: Object = seen.objects["Secret"][name]
    return secret


def is_rotated(seen: Snapshot, at: float) -> bool:
    """Return whether the credential was made after a moment.

    The driver notes fractions of a second, the API server seconds.
    """
    used = credential_secret.in_use(_identity(seen))
    return used is not None and used.since > at


def _addons(seen: Snapshot) -> Iterator[str]:
    """Compare what is installed with the objects as they are."""
    secrets = seen.objects["Secret"]
    identity = _identity(seen)
    for kind in ADDONS:
        for name, each in seen.objects[kind].items():
            phase = each.get("status", {}).get("phase")
            if phase != "Deployed" or "deletionTimestamp" in each["metadata"]:
                yield f"addon {name}: {phase}"
            content = seen.installed.get(each["metadata"]["uid"])
            if content is None:
                yield f"addon {name}: being installed"
                continue
            spec, end = json.JSONDecoder().raw_decode(content)
            live = {k: v for k, v in each["spec"].items() if k not in _UNUSED}
            if spec != live:
                yield f"addon {name}: another spec is installed"
            if content[end:] != _sums(live, secrets, identity):
                yield f"addon {name}: older values are installed"
    if any(
        seen.config.get(key) != value
        for key, value in identity["data"].items()
    ):
        yield "cloud-config: an older credential is installed"


def _sums(
    spec: Object, secrets: Mapping[str, Object], identity: Object
) -> str:
    """Return the checksums of an addon's Secrets, as labinfra adds them."""
    text = ""
    sources = (spec.get(each) or () for each in _SOURCES)
    for source in itertools.chain(*sources):
        if "secret" in source:
            # helm of a deletion that came meanwhile removes it.
            secret = secrets.get(source["secret"]["name"], {})
            text += _sum(secret)
            for value in _data(secret):
                text += _sum(identity) * ("cloud_identity" in value)
    return text + _sum(identity) * ("cloud_identity" in json.dumps(spec))


def _sum(secret: Object) -> str:
    pairs = sorted(f"{k}={v}" for k, v in (secret.get("data") or {}).items())
    return hashlib.sha256(";".join(pairs).encode()).hexdigest()


def _data(secret: Object) -> Sequence[str]:
    values = (secret.get("data") or {}).values()
    return [base64.b64decode(e).decode(errors="replace") for e in values]


def _of_helm(seen: Snapshot) -> Iterator[str]:
    """Compare Secrets and addons with helm's newest manifest."""
    labels = seen.record["metadata"]["labels"]
    if labels["status"] != "deployed":
        yield f"helm: revision {labels['version']} is {labels['status']}"
    packed = base64.b64decode(seen.record["data"]["release"])
    text = gzip.decompress(base64.b64decode(packed))
    manifest = json.loads(text)["manifest"]
    wanted: set[tuple[str, str]] = set()
    for each in yaml.load_all(manifest, yaml.CSafeLoader):
        if not each or each["kind"] not in ("Secret", *ADDONS):
            continue
        kind, name = each["kind"], each["metadata"]["name"]
        wanted.add((kind, name))
        live = seen.objects[kind].get(name, {})
        if kind == "Secret":
            given = {
                k: base64.b64encode(v.encode()).decode()
                for k, v in each.get("stringData", {}).items()
            }
            same = {**each.get("data", {}), **given} == live.get("data", {})
        else:
            same = each["spec"].items() <= live.get("spec", {}).items()
        if not same:
            yield f"{kind} {name}: not as in helm's manifest"
    for kind in ADDONS:
        for name in seen.objects[kind]:
            if (kind, name) not in wanted:
                yield f"{kind} {name}: extra"
