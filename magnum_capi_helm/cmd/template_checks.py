# SPDX-License-Identifier: Apache-2.0

"""What ``check`` looks at of Magnum's cluster templates."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from magnum import objects

from magnum_capi_helm import driver
from magnum_capi_helm import runtime
from magnum_capi_helm.cmd import database
from magnum_capi_helm.config import conf
from magnum_capi_helm.lifecycle import preview
from magnum_capi_helm.model import errors
from magnum_capi_helm.model import names
from magnum_capi_helm.resolve import requested


class UnreadableError(errors.NotConfigured):
    """Magnum's database can't be read, so nothing is known of templates."""


def labels(_: runtime.Runtime) -> str:
    """Return the labels of templates that have no effect, by template.

    :raises NotConfigured: clusters of these templates are refused
    :raises UnreadableError: Magnum's database can't be read
    """
    found = "; ".join(_without_effect())
    if not found:
        return "all labels of templates have an effect"
    if conf.CONF.capi_helm.unknown_labels == "reject":
        raise errors.NotConfigured(
            "[capi_helm] unknown_labels = reject refuses clusters of "
            f"templates with labels that have no effect: {found}"
        )
    return (
        f"accepted without effect: {found}. `magnum-capi-helm values "
        "--template` says why"
    )


def _without_effect() -> Iterator[str]:
    for template in of_this_driver():
        lost = sorted(requested.without_effect(template.labels or {}))
        if lost:
            name = errors.shown(template.name)
            yield f"template {name} ({', '.join(lost)})"


def of_this_driver() -> list[Any]:
    """Return the templates of which Magnum gives clusters to this driver.

    Where a template names no driver, other drivers may provide the same; it
    counts all the same.

    :raises UnreadableError: Magnum's database can't be read
    """
    try:
        found = database.read(
            lambda: objects.ClusterTemplate.list(preview.context())
        )
    except errors.NotConfigured as error:
        raise UnreadableError(str(error)) from None
    ours = provided(driver.Driver())
    return [
        each
        for each in found
        if kind(each) in ours and each.driver in (None, "", names.DRIVER)
    ]


def provided(found: Any) -> frozenset[str]:
    """Return what a driver provides, each as server_type/os/coe."""
    return frozenset(
        _kind(each["server_type"], each["os"], each["coe"])
        for each in found.provides
    )


def kind(template: Any) -> str:
    """Return what a template needs, as server_type/os/coe."""
    return _kind(template.server_type, template.cluster_distro, template.coe)


def _kind(*words: Any) -> str:
    return "/".join(map(str, words))
