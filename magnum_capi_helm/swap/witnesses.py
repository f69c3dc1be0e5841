# SPDX-License-Identifier: Apache-2.0

"""What is read for the findings of a swap; nothing is written anywhere.

Each list is read once, whatever the number of clusters. Magnum is not asked
which driver a template belongs to: beside a Magnum that runs 1.4.0, that may
be a driver that this process does not have.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
import dataclasses
import functools
import tempfile
import time
from typing import Any

from magnum_capi_helm import runtime
from magnum_capi_helm.cloud import catalogue
from magnum_capi_helm.cloud import sessions
from magnum_capi_helm.config import conf
from magnum_capi_helm.database import queries
from magnum_capi_helm.database import rows
from magnum_capi_helm.helm import charts
from magnum_capi_helm.kubernetes import location
from magnum_capi_helm.model import cluster_spec
from magnum_capi_helm.model import errors
from magnum_capi_helm.model import names
from magnum_capi_helm.model import requested_groups
from magnum_capi_helm.resolve import requested
from magnum_capi_helm.swap import ahead
from magnum_capi_helm.swap import evidence
from magnum_capi_helm.swap import planes

_COE = "kubernetes"
#: Fields of a template that 1.4.0 takes no notice of.
_UNREAD = (
    "apiserver_port",
    "docker_volume_size",
    "http_proxy",
    "https_proxy",
    "insecure_registry",
    "no_proxy",
)
_NOTHING = ("", 0, False, None)


def subjects(
    project: str | None, provides: Sequence[dict[str, str]]
) -> list[evidence.Subject]:
    """The clusters of the driver, by project and name.

    :param project: whose; None: everybody's
    :param provides: what the driver says that it provides
    """
    chosen = functools.partial(ours, provides=provides)
    found = queries.read(project, chosen)
    seen = planes.read(found)
    made = [_subject(*each, seen) for each in found]
    return sorted(made, key=lambda each: (each.project, each.name, each.uuid))


def ours(template: Any, provides: Sequence[dict[str, str]]) -> bool:
    """Whether clusters of a template are this driver's, or 1.4.0's."""
    if template.coe != _COE:
        return False
    if template.driver:
        return bool(template.driver == names.DRIVER)
    return any(
        each["server_type"] == template.server_type
        and each["os"] == template.cluster_distro
        for each in provides
    )


def surroundings(
    found: Iterable[evidence.Subject], *, whole: bool
) -> evidence.Surroundings:
    """What is asked once for all clusters.

    :param whole: charts, flavors and keypairs, too, and not the templates'
        images alone
    """
    found = tuple(found)
    silences: list[str] = []
    refs = {each.template.image for each in found} - {""}
    around = evidence.Surroundings(now=time.time())
    cloud = catalogue.Cloud(sessions.service_session())
    if whole:
        refs |= {ref for each in found for ref in ahead.image_refs(each)}
        around = dataclasses.replace(
            around,
            charts=_charts(found, silences),
            flavors=_flavors(cloud, silences),
            keypairs=_keypairs(cloud, found, silences),
        )
    return dataclasses.replace(
        around,
        images=_images(cloud, sorted(refs), silences),
        silences=tuple(dict.fromkeys(silences)),
    )


def options() -> evidence.Options:
    """The options as 1.4.0 would read them in this configuration."""
    # Where nobody set it, 1.4.0 has a default of its own.
    chart = ""
    place = conf.CONF.get_location("default_helm_chart_version", "capi_helm")
    if place is not None and place.location.is_user_controlled:
        chart = str(conf.CONF.capi_helm.default_helm_chart_version)
    return evidence.Options(
        labels=conf.label_defaults(),
        chart=chart,
        chart_at_path=charts.version_at(requested.configured_chart()) or "",
        boot_volume_type=str(conf.CONF.cinder.default_boot_volume_type or ""),
        boot_volume_size=int(conf.CONF.cinder.default_boot_volume_size or 0),
    )


# Rows


def _subject(
    cluster: Any,
    nodegroups: Sequence[Any],
    seen: planes.Seen,
) -> evidence.Subject:
    template = cluster.cluster_template
    release = cluster.stack_id or ""
    scope = (location.namespace(cluster.project_id), release)
    live, silence = seen.of(scope) if release else (None, "")
    return evidence.Subject(
        name=cluster.name or "",
        uuid=cluster.uuid,
        project=cluster.project_id,
        status=cluster.status or "",
        template=_template(cluster, template),
        release=release,
        user=cluster.user_id or "",
        keypair=cluster.keypair or "",
        labels=dict(cluster.labels or {}),
        groups=_groups(cluster, nodegroups, live),
        live=live,
        silence=silence,
    )


def _template(cluster: Any, template: Any) -> evidence.Template:
    unread = {
        # A proxy's URL may have a password in it.
        name: "(set)" if name.endswith("proxy") else str(value)
        for name in _UNREAD
        if (value := getattr(template, name, None)) not in _NOTHING
    }
    if cluster.floating_ip_enabled is False:
        unread["floating_ip_enabled"] = "False"
    return evidence.Template(
        name=template.name or template.uuid,
        labels=dict(template.labels or {}),
        image=template.image_id or "",
        network_driver=template.network_driver or "",
        unread=unread,
    )


def _groups(
    cluster: Any, nodegroups: Sequence[Any], live: evidence.Live | None
) -> tuple[evidence.Group, ...]:
    if not cluster.stack_id:
        return ()
    groups = planes.group_names(live)
    known = rows.wants(cluster, nodegroups).known_as(groups)
    kinds = {
        each.uuid: each
        for each in (*known.groups, *known.leaving, *known.refused)
    }
    return tuple(_group(row, kinds[row.uuid], known) for row in nodegroups)


def _group(
    row: Any, known: requested_groups.Group, all_rows: requested_groups.Rows
) -> evidence.Group:
    return evidence.Group(
        name=row.name,
        chart_name=known.chart_name,
        control_plane=row.role == "master",
        default=bool(row.is_default),
        count=row.node_count,
        flavor=row.flavor_id or "",
        minimum=row.min_node_count,
        maximum=row.max_node_count,
        leaving=known in all_rows.leaving,
        refused=known in all_rows.refused,
    )


# OpenStack and helm


def _images(
    cloud: catalogue.Cloud, refs: Iterable[str], silences: list[str]
) -> dict[str, cluster_spec.Image | None]:
    found: dict[str, cluster_spec.Image | None] = {}
    for ref in refs:
        try:
            found[ref] = cloud.image(ref)
        except errors.InvalidInput:
            found[ref] = None
        except errors.CloudError as error:
            silences.append(str(error))
            break
    return found


def _flavors(
    cloud: catalogue.Cloud, silences: list[str]
) -> frozenset[str] | None:
    try:
        return cloud.every_flavor()
    except errors.CloudError as error:
        silences.append(str(error))
        return None


def _keypairs(
    cloud: catalogue.Cloud,
    found: Iterable[evidence.Subject],
    silences: list[str],
) -> dict[tuple[str, str], bool]:
    wanted_keys = {(e.user, e.keypair) for e in found if e.user and e.keypair}
    known = {}
    for user, name in sorted(wanted_keys):
        try:
            known[user, name] = cloud.keypair(name, user) is not None
        except errors.CloudError as error:
            silences.append(str(error))
            break
    return known


def _charts(
    found: Iterable[evidence.Subject], silences: list[str]
) -> dict[str, str]:
    """Whether each version is in the store, or at its source.

    What is fetched to see that is thrown away.
    """
    store = runtime.any_one()
    versions = {each.live.chart for each in found if each.live} - {""}
    known = {}
    for version in sorted(versions):
        configured = requested.configured_chart()
        chart = dataclasses.replace(configured, version=version)
        known[version] = ""
        if store.charts.has(chart):
            continue
        try:
            _fetch(store, chart)
        except errors.HelmError as error:
            if error.retriable:
                silences.append(str(error))
                del known[version]
            else:
                known[version] = str(error)
    return known


def _fetch(rt: runtime.Runtime, chart: cluster_spec.Chart) -> None:
    """Whether a chart is where new ones come from.

    :raises HelmError: it is not
    """
    if charts.is_path(chart):
        there = charts.version_at(chart)
        if there != chart.version:
            raise errors.ChartUnavailable(
                f"{chart.name} has version {there or 'none'}"
            )
        return
    with tempfile.TemporaryDirectory() as directory:
        rt.helm.pull(chart.name, chart.version, chart.repository, directory)
