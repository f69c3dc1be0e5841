# SPDX-License-Identifier: Apache-2.0

"""Namespaces of projects, and the region whose Magnum they belong to.

Projects have the same ID in every region of a cloud, so two Magnums of one
Keystone that share a management cluster would share their namespaces. With
``[capi_helm] region_name`` each namespace is marked with the region that
first made a cluster in it. No other part of an identity is needed: the prefix
is in the name, and another Keystone has other projects.
"""

from __future__ import annotations

from magnum_capi_helm import runtime
from magnum_capi_helm.config import conf
from magnum_capi_helm.management import client
from magnum_capi_helm.management import kinds
from magnum_capi_helm.model import errors
from magnum_capi_helm.status import view

#: Label of a namespace: the region that it belongs to.
OWNER = "magnum.openstack.org/region"


def owner(namespace: client.Object | None) -> str:
    """The region that a namespace belongs to; empty: nothing says it."""
    return view.labels_of(namespace or {}).get(OWNER, "")


def foreign(namespace: client.Object | None) -> str:
    """The other region that a namespace belongs to; empty: to none."""
    found = owner(namespace)
    return "" if found == conf.CONF.capi_helm.region_name else found


def check(namespace: client.Object | None) -> None:
    """Refuse to make anything in another region's namespace.

    :raises NotSupported: it is another's
    """
    if namespace is not None and (other := foreign(namespace)):
        raise errors.NotSupported(
            f"the namespace {view.name_of(namespace)} on the management "
            f"cluster belongs to the Magnum of region {other}: the operator "
            "has to set [capi_helm] namespace_prefix or region_name so that "
            "each has its own"
        )


def ensure(
    rt: runtime.Runtime, name: str, found: client.Object | None
) -> None:
    """Make a project's namespace, or mark the one that there is.

    :param found: as it was read
    :raises NotSupported: another region was quicker
    """
    mine = conf.CONF.capi_helm.region_name
    marked = {"labels": {OWNER: mine}} if mine else {}
    if found is None:
        made = {"metadata": {"name": name, **marked}}
        try:
            rt.management.create(kinds.NAMESPACE, made)
            return
        except errors.Conflict:
            found = rt.management.get(kinds.NAMESPACE, "", name)
            check(found)
    if mine and OWNER not in view.labels_of(found or {}):
        change = {"metadata": marked}
        rt.management.patch(kinds.NAMESPACE, "", name, change)
