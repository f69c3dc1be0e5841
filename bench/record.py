# SPDX-License-Identifier: Apache-2.0

"""Records one real cluster of the lab, as what the population is made of.

An object stands in the record as the API server gave it, managed fields and
all, but for what is secret and for what is packed: that is replaced by filler
of the same size, or unpacked, so that names in it can be changed.
"""

from __future__ import annotations

import base64
from collections.abc import Iterator
import contextlib
import gzip
import json
import pathlib
import re
from typing import Any

from bench import crds
from bench import template
from lab import layout
from lab import postgres
from lab import tools

#: Their content is read by the driver; that of the others is filled.
_KEPT = ("-intent", "-cloud-credentials")
_CREDENTIAL = re.compile(r"(application_credential_secret: )(\S+)")


def record(
    release: str, target: pathlib.Path, *, secrets: bool = True
) -> None:
    """Write all objects of a release on the running lab to a file.

    :param secrets: not for another state of a recorded cluster
    """
    namespace = _namespace(release)
    found = [
        _clean(each, release)
        for prefix, plurals in crds.KINDS.items()
        for plural in plurals
        for each in _list(prefix, namespace, plural)
        if release in each["metadata"]["name"]
    ]
    facts = {
        "release": release,
        "cluster": _label(found, "cluster-uuid"),
        "project": namespace.removeprefix("magnum-"),
        "user": _label(found, "user-id"),
    }
    content: dict[str, Any] = {"facts": facts, "objects": found}
    if secrets:
        system = _kubectl("api/v1/namespaces/kube-system")
        content["rows"] = _rows(facts["cluster"])
        content["identity"] = system["metadata"]["uid"]
    else:
        content["objects"] = [e for e in found if e["kind"] != "Secret"]
    text = json.dumps(content).encode()
    target.write_bytes(gzip.compress(text, mtime=0))


def _rows(uuid: str) -> dict[str, list[dict[str, Any]]]:
    """Magnum's rows of a cluster, by table, as the database has them."""
    wanted = {
        "cluster_template": (
            "uuid = (SELECT cluster_template_id FROM cluster WHERE uuid = %s)"
        ),
        "cluster": "uuid = %s",
        "nodegroup": "cluster_id = %s",
    }
    found = {}
    with contextlib.closing(postgres.connect("magnum")) as connection:
        cursor = connection.cursor()
        for table, condition in wanted.items():
            # Nothing of it comes from outside.
            cursor.execute(
                f"SELECT row_to_json(r) FROM {table} r "  # noqa: S608
                f"WHERE {condition} ORDER BY id",
                (uuid,),
            )
            found[table] = [row for (row,) in cursor.fetchall()]
    return found


def _kubectl(path: str) -> Any:
    config = f"--kubeconfig={layout.KUBECONFIG}"
    argv = [str(layout.BIN / "kubectl"), config, "get", "--raw", f"/{path}"]
    return json.loads(tools.output(argv))


def _namespace(release: str) -> str:
    for each in _kubectl("apis/cluster.x-k8s.io/v1beta1/clusters")["items"]:
        if each["metadata"]["name"] == release:
            return str(each["metadata"]["namespace"])
    raise SystemExit(f"the lab has no Cluster {release}")


def _list(
    prefix: str, namespace: str, plural: str
) -> Iterator[dict[str, Any]]:
    body = _kubectl(f"{prefix}/namespaces/{namespace}/{plural}")
    version = prefix.removeprefix("apis/").removeprefix("api/")
    kind = body["kind"].removesuffix("List")
    for each in body["items"]:
        yield {"apiVersion": version, "kind": kind, **each}


def _label(found: list[dict[str, Any]], name: str) -> str:
    """A label of Magnum's; some objects have it."""
    for each in found:
        labels = each["metadata"].get("labels") or {}
        if value := labels.get(f"magnum.openstack.org/{name}"):
            return str(value)
    raise SystemExit(f"no object has the label {name}")


def _clean(obj: dict[str, Any], release: str) -> dict[str, Any]:
    """Without secrets, and with nothing packed."""
    if obj["kind"] != "Secret":
        return obj
    kept = obj["type"] == "helm.sh/release.v1" or obj["metadata"]["name"] in {
        f"{release}{each}" for each in _KEPT
    }
    obj["data"] = {
        key: _kept(key, value) if kept else template.fill(len(value))
        for key, value in (obj.get("data") or {}).items()
    }
    return obj


def _kept(key: str, value: str) -> dict[str, Any]:
    raw = base64.b64decode(value)
    if key == "cacert":
        return template.fill(len(value))
    if key == "release":
        return template.packed(gzip.decompress(base64.b64decode(raw)), 2)
    if key.endswith(".gz"):
        return template.packed(gzip.decompress(raw), 1)
    return template.plain(
        _CREDENTIAL.sub(
            lambda found: found[1] + "x" * len(found[2]), raw.decode()
        )
    )
