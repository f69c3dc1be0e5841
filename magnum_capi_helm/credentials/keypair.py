# SPDX-License-Identifier: Apache-2.0

"""Keep the Nova keypair of a cluster, which every new machine needs.

Nova looks a keypair up under the user who asks, and Cluster API asks as the
owner of the cluster's credential. So the public key is stored with the
desired state at create, to be imported for a later owner.
"""

from __future__ import annotations

import dataclasses

from magnum_capi_helm.cloud import catalogue
from magnum_capi_helm.cloud import sessions
from magnum_capi_helm.database import rows
from magnum_capi_helm.kubernetes import kinds
from magnum_capi_helm.model import cluster_spec
from magnum_capi_helm.model import encoding
from magnum_capi_helm.model import errors
from magnum_capi_helm.model import names
from magnum_capi_helm.operations import cluster_operation

#: In the Secret of the desired state.
KEY = "keypair.json"


def find(
    cloud: catalogue.Cloud, name: str | None
) -> cluster_spec.Keypair | None:
    """Return the keypair of a new cluster, if it names one.

    :raises InvalidInput: the user has no such keypair
    """
    if not name:
        return None
    keypair = cloud.keypair(name)
    if keypair is None:
        raise errors.InvalidInput(
            "keypair: there is no such keypair; choose one of `openstack "
            f"keypair list`. It is {errors.shown(name)}"
        )
    return keypair


def to_secret(keypair: cluster_spec.Keypair | None) -> dict[str, str]:
    """Return the data to store beside the desired state."""
    if keypair is None:
        return {}
    return {KEY: encoding.plain(dataclasses.asdict(keypair))}


def _stored(
    operation: cluster_operation.Operation,
) -> cluster_spec.Keypair | None:
    """Return the stored keypair; clusters of 1.4.0 have none.

    :raises ManagementError: it can't be read
    """
    name = names.desired_state(operation.release)
    secret = operation.get(kinds.SECRET, name)
    data = (secret or {}).get("data") or {}
    if KEY not in data:
        return None
    try:
        return cluster_spec.Keypair(**encoding.read_plain(data[KEY]))
    except encoding.DAMAGED as error:
        raise errors.ManagementError(
            f"the Secret {name} is damaged: {KEY} can't be read "
            f"({type(error).__name__})"
        ) from error


def to_import(
    operation: cluster_operation.Operation,
    cloud: catalogue.Cloud,
    user_id: str,
) -> cluster_spec.Keypair | None:
    """Return the keypair that has to be imported for a new owner, if any.

    :param cloud: the cloud as the new owner sees it
    :raises InvalidInput: the owner's keypair of that name differs, or the
        public key is lost
    """
    cluster = operation.cluster
    name = cluster.keypair
    if not name:
        return None
    theirs = cloud.keypair(name)
    if theirs is not None and user_id == cluster.user_id:
        return None
    ours = _stored(operation) or _of_present_owner(cluster)
    if theirs is None and ours is None:
        raise errors.InvalidInput(
            "nobody has the cluster's keypair any more, and new machines "
            "need it: make one of that name, `openstack keypair create`, and "
            f"try again. It is {errors.shown(name)}"
        )
    if theirs is None:
        return ours
    if ours and _without_comment(theirs) != _without_comment(ours):
        raise errors.InvalidInput(
            "your keypair is not the cluster's of that name, and new machines "
            "would get it: rename or delete yours, or rotate as a user who "
            f"has none of that name. It is {errors.shown(name)}"
        )
    return None


def _of_present_owner(
    cluster: rows.Cluster,
) -> cluster_spec.Keypair | None:
    """Ask Nova, which keeps the keypairs of deleted users."""
    if not cluster.user_id:
        return None
    cloud = catalogue.Cloud(sessions.service_session())
    return cloud.keypair(cluster.keypair, user_id=cluster.user_id)


def _without_comment(keypair: cluster_spec.Keypair) -> list[str]:
    words = keypair.public_key.split()
    return words[:2] if keypair.type == "ssh" else words
