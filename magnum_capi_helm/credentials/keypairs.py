# SPDX-License-Identifier: Apache-2.0

"""The Nova keypair of a cluster, which every new machine asks for.

Nova looks a keypair up under the user who asks, and Cluster API asks as the
owner of the cluster's credential. So the public key is kept with the cluster
when it is made, for an owner who comes later.
"""

from __future__ import annotations

import dataclasses
from typing import Any

from magnum_capi_helm import runtime
from magnum_capi_helm.cloud import catalogue
from magnum_capi_helm.cloud import sessions
from magnum_capi_helm.management import kinds
from magnum_capi_helm.management import snapshot
from magnum_capi_helm.model import cluster_spec
from magnum_capi_helm.model import encoding
from magnum_capi_helm.model import errors
from magnum_capi_helm.model import names

#: In the Secret of the intent.
KEY = "keypair.json"


def chosen(
    cloud: catalogue.Cloud, name: str | None
) -> cluster_spec.Keypair | None:
    """The keypair of a new cluster, if it has one.

    :raises InvalidInput: the user has no such keypair
    """
    if not name:
        return None
    found = cloud.keypair(name)
    if found is None:
        raise errors.InvalidInput(
            "keypair: there is no such keypair; choose one of `openstack "
            f"keypair list`. It is {errors.shown(name)}"
        )
    return found


def packed_key(keypair: cluster_spec.Keypair | None) -> dict[str, str | None]:
    """What is parked beside the intent."""
    if keypair is None:
        return {}
    return {KEY: encoding.plain(dataclasses.asdict(keypair))}


def kept(
    rt: runtime.Runtime, scope: snapshot.Scope
) -> cluster_spec.Keypair | None:
    """The keypair that is kept with a cluster; 1.4.0 kept none.

    :raises ManagementError: it can't be read
    """
    namespace, release = scope
    secret = rt.management.get(kinds.SECRET, namespace, names.intent(release))
    data = (secret or {}).get("data") or {}
    if KEY not in data:
        return None
    try:
        return cluster_spec.Keypair(**encoding.read_plain(data[KEY]))
    except encoding.DAMAGED as error:
        raise errors.ManagementError(
            f"the Secret {names.intent(release)} is damaged: {KEY} can't be "
            f"read ({type(error).__name__})"
        ) from error


def missing(
    rt: runtime.Runtime,
    scope: snapshot.Scope,
    cluster: Any,
    cloud: catalogue.Cloud,
    user_id: str,
) -> cluster_spec.Keypair | None:
    """The keypair that a new owner still needs, to be imported for him.

    :param cluster: Magnum's row, with the owner so far
    :param cloud: as the new owner sees it
    :raises InvalidInput: his keypair of that name is another one, or nobody
        has the public key any more
    """
    name = cluster.keypair
    if not name:
        return None
    theirs = cloud.keypair(name)
    if theirs is not None and user_id == cluster.user_id:
        return None
    known = kept(rt, scope) or _of_owner(cluster)
    if theirs is None and known is None:
        raise errors.InvalidInput(
            "nobody has the cluster's keypair any more, and new machines "
            "need it: make one of that name, `openstack keypair create`, and "
            f"try again. It is {errors.shown(name)}"
        )
    if theirs is None or known is None:
        return known if theirs is None else None
    if _essence(theirs) != _essence(known):
        raise errors.InvalidInput(
            "your keypair is not the cluster's of that name, and new machines "
            "would get it: rename or delete yours, or rotate as a user who "
            f"has none of that name. It is {errors.shown(name)}"
        )
    return None


def _of_owner(cluster: Any) -> cluster_spec.Keypair | None:
    """What Nova has for the owner so far, whether or not he still exists."""
    if not cluster.user_id:
        return None
    cloud = catalogue.Cloud(sessions.service_session())
    return cloud.keypair(cluster.keypair, user_id=cluster.user_id)


def _essence(keypair: cluster_spec.Keypair) -> list[str]:
    """The key without its comment."""
    if keypair.type != "ssh":
        return keypair.public_key.split()
    return keypair.public_key.split()[:2]
