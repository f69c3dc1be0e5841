# SPDX-License-Identifier: Apache-2.0

"""Objects of a release, written as helm does: by two manifests alone."""

from __future__ import annotations

from magnum_capi_helm.kubernetes import kinds
from magnum_capi_helm.tests.fakes import api_server
from magnum_capi_helm.tests.fakes import chart


def apply(
    server: api_server.ApiServer,
    release: str,
    old: list[api_server.Object],
    new: list[api_server.Object],
) -> None:
    """Change by the difference of two manifests, whatever is live."""
    before = {identity(each): each for each in old}
    for obj in new:
        kind, namespace, name = identity(obj)
        live = server.get(kind, namespace, name)
        if live is None:
            _create(server, release, obj)
            continue
        change = api_server.difference(
            before.pop((kind, namespace, name), live), obj
        )
        change.pop("apiVersion", None)
        change.pop("status", None)
        server.patch(kind, namespace, name, change)
    wanted = {identity(each) for each in new}
    for gone, obj in before.items():
        if gone not in wanted and not kept(obj):
            delete(server, obj)


def _create(
    server: api_server.ApiServer, release: str, obj: api_server.Object
) -> None:
    """With what helm writes on all that it makes."""
    kind, namespace, _ = identity(obj)
    meta = obj["metadata"]
    owner = {
        "meta.helm.sh/release-name": release,
        "meta.helm.sh/release-namespace": namespace,
    }
    annotations = {**meta["annotations"], **owner}
    made = {**obj, "metadata": {**meta, "annotations": annotations}}
    server.create(kind, made)


def delete(server: api_server.ApiServer, obj: api_server.Object) -> None:
    """Delete an object of a manifest."""
    server.delete(*identity(obj))


def identity(obj: api_server.Object) -> tuple[kinds.Kind, str, str]:
    """Kind, namespace and name of an object."""
    meta = obj["metadata"]
    return api_server.BY_NAME[obj["kind"]], meta["namespace"], meta["name"]


def kept(obj: api_server.Object) -> bool:
    """Whether helm leaves it where it is."""
    annotations: dict[str, str] = obj["metadata"]["annotations"]
    return chart.KEEP.items() <= annotations.items()
