# Licensed under the Apache License, Version 2.0 (the "License"); you may
# not use this file except in compliance with the License. You may obtain
# a copy of the License at
#
#      http://www.apache.org/licenses/LICENSE-2.0
#
# Unless required by applicable law or agreed to in writing, software
# distributed under the License is distributed on an "AS IS" BASIS, WITHOUT
# WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the
# License for the specific language governing permissions and limitations
# under the License.

"""What ``check`` looks at: configuration, management cluster, helm, cloud."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
import dataclasses

from magnum_capi_helm import conf
from magnum_capi_helm import exceptions
from magnum_capi_helm import runtime
from magnum_capi_helm.changes import leftovers
from magnum_capi_helm.cloud import key_manager
from magnum_capi_helm.cloud import sessions
from magnum_capi_helm.cmd import component_checks
from magnum_capi_helm.delivery import sender
from magnum_capi_helm.delivery import settings
from magnum_capi_helm.management import kinds
from magnum_capi_helm.management import permissions
from magnum_capi_helm.resolve import requested
from magnum_capi_helm.versions import components

OK = components.OK
FAILED = components.FAILED


@dataclasses.dataclass(frozen=True)
class Result:
    """One line: what was looked at, how it is, what was found or to do.

    :param state: one of those of :mod:`components`; only :data:`FAILED` is a
        reason for a create not to work
    """

    name: str
    state: str
    detail: str


def _kubeconfig(rt: runtime.Runtime) -> str:
    return rt.home.kubeconfig or conf.kubeconfig_path()


def _management(rt: runtime.Runtime) -> str:
    """One, and no other name of the same one."""
    found = rt.management.identity()
    known = runtime.places().identities
    for name, identity in known.items():
        if identity == found and name != rt.home.name:
            raise exceptions.NotConfigured(
                f"cluster {found}, which is {name} as well: leave one of "
                "these names in [capi_helm] management_clusters"
            )
    runtime.places().identify(rt.home.name, found)
    return f"cluster {found}"


def _maintenance(rt: runtime.Runtime) -> str:
    """It is not frozen."""
    found = rt.anchor.read().freeze
    if found is not None:
        who = f" by {found.by}" if found.by else ""
        raise exceptions.NotConfigured(
            f"it is frozen{who}: {found.reason}; 'magnum-capi-helm thaw "
            "--apply' ends that"
        )
    return "none"


def _new_clusters(rt: runtime.Runtime) -> str:
    """What is made on one of several management clusters."""
    home = rt.home
    if not home.weight:
        return "none"
    whose = f"of projects {', '.join(home.projects)}" if home.projects else ""
    where = f"in zones {', '.join(home.zones)}" if home.zones else ""
    asked = "of templates that name it" if home.only_labelled else ""
    limits = " ".join(filter(None, (whose, where, asked))) or "any"
    return f"{limits} (weight {home.weight})"


def _permissions(rt: runtime.Runtime) -> str:
    """The user of the kubeconfig may do what the driver does."""
    refused = permissions.missing(rt.management)
    if refused:
        raise exceptions.NotConfigured(
            "the kubeconfig's user may not "
            f"{', '.join(map(str, refused))}: apply what "
            "'magnum-capi-helm permissions' prints, or give it these"
        )
    return "all that the driver needs"


def _interfaces(rt: runtime.Runtime) -> str:
    """Every kind that the driver needs is served in a version it knows."""
    found = []
    for kind in kinds.ALL:
        if kind.fixed:
            continue
        version = rt.management.api_version(kind)
        if not version:
            raise exceptions.NotConfigured(
                f"the management cluster serves no {kind.name} of "
                f"{kind.group} in {' or '.join(kind.versions)}: install the "
                "provider that has it"
            )
        found.append(f"{kind.name} {version.rsplit('/', 1)[-1]}")
    return ", ".join(found)


def _helm(rt: runtime.Runtime) -> str:
    return rt.helm.version()


def _chart(rt: runtime.Runtime) -> str:
    return rt.charts.ensure(requested.default_chart())


def _cleanup(rt: runtime.Runtime) -> str:
    """Who deletes what workloads leave behind."""
    chosen = conf.CONF.capi_helm.cleanup
    if chosen != leftovers.AUTO:
        who = "nobody" if chosen == leftovers.NOBODY else "the driver"
        return f"{who} ([capi_helm] cleanup = {chosen})"
    found = rt.management.list(
        kinds.OPENSTACK_CLUSTER, None, metadata_only=True
    )
    watched = sum(map(leftovers.has_janitor, found))
    if not found:
        return "unknown: there is no cluster yet that would show a janitor"
    if watched == len(found):
        return "cluster-api-janitor-openstack"
    if not watched:
        return "the driver: no cluster has a janitor"
    return (
        f"cluster-api-janitor-openstack for {watched} clusters, the driver "
        f"for {len(found) - watched}"
    )


def _openstack(_: runtime.Runtime) -> str:
    user = sessions.authenticate(sessions.service_session())
    return f"authenticated as user {user}"


def _certificates(_: runtime.Runtime) -> str:
    store = str(conf.CONF.certificates.cert_manager_type)
    if store != "barbican":
        return store
    return f"barbican at {key_manager.probe(sessions.service_session())}"


def _delivery(_: runtime.Runtime) -> str:
    """The receiver of kubeconfigs is there, and nothing is sent."""
    if not settings.enabled():
        return "off"
    options = settings.read()
    sender.probe(options)
    return f"of the user {options.user.kind} to {options.receiver}"


CHECKS: tuple[tuple[str, Callable[[runtime.Runtime], str]], ...] = (
    ("kubeconfig", _kubeconfig),
    ("management cluster", _management),
    ("maintenance", _maintenance),
    ("permissions", _permissions),
    ("Cluster API", _interfaces),
    ("helm", _helm),
    ("chart", _chart),
    ("OpenStack", _openstack),
    ("clean-up", _cleanup),
    ("certificates", _certificates),
    ("delivery", _delivery),
)


#: Those that are of one management cluster, of several.
_OF_EACH = (
    ("kubeconfig", _kubeconfig),
    ("management cluster", _management),
    ("maintenance", _maintenance),
    ("permissions", _permissions),
    ("new clusters", _new_clusters),
    ("Cluster API", _interfaces),
    ("clean-up", _cleanup),
)
_OF_ALL = tuple(each for each in CHECKS if each not in _OF_EACH)
#: In the place of a management cluster's name.
_ALL = "(all)"


def run(rt: runtime.Runtime) -> Iterator[Result]:
    """All checks; each is made whatever became of the others."""
    yield from _made(rt, CHECKS)
    yield from _versions(component_checks.on_management_cluster(rt))
    yield from _versions(component_checks.on_conductor(rt))


def run_on(names: Sequence[str]) -> Iterator[tuple[str, Result]]:
    """All checks, for each of several management clusters by its name."""
    for name in names:
        rt = runtime.get(name)
        for each in _made(rt, _OF_EACH):
            yield name, each
        for each in _versions(component_checks.on_management_cluster(rt)):
            yield name, each
    any_one = runtime.any_one()
    for each in _made(any_one, _OF_ALL):
        yield _ALL, each
    for each in _versions(component_checks.on_conductor(any_one)):
        yield _ALL, each


def _made(
    rt: runtime.Runtime,
    checks: Sequence[tuple[str, Callable[[runtime.Runtime], str]]],
) -> Iterator[Result]:
    for name, check in checks:
        try:
            yield Result(name, OK, check(rt))
        except exceptions.CapiHelmError as error:
            yield Result(name, FAILED, str(error))


def _versions(found: Iterable[components.Line]) -> Iterator[Result]:
    return (Result(each.name, each.state, each.detail) for each in found)
