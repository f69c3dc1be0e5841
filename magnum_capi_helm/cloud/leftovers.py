# SPDX-License-Identifier: Apache-2.0

"""Delete cloud resources that a cluster's workloads left in its project.

These are load balancers, floating IPs and security groups of Services, and
volumes and snapshots of claims. One look asks each service once and begins as
many deletions as fit into its time; the next look takes the rest.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
import dataclasses
import time
from typing import Any

from magnum_capi_helm.cloud import sessions
from magnum_capi_helm.model import errors

_BALANCERS = "load balancers of Kubernetes Services"

#: Seconds in which one look begins deletions.
_SECONDS = 5.0
#: Names that a text has at most.
_NAMED = 3
#: Octavia and Cinder delete nothing else; Cinder not even ERROR_DELETING.
_ERRORS = ("ERROR", "ERROR_EXTENDING", "ERROR_MANAGING", "ERROR_RESTORING")
_SETTLED = ("ACTIVE", "AVAILABLE", *_ERRORS)


@dataclasses.dataclass(frozen=True)
class Outcome:
    """The objects that are still there after a look.

    :param left: kind -> names of objects that are still to be deleted
    :param problems: kind -> why it can't be read, or deleted
    :param kept: sentences about objects that stay
    """

    left: dict[str, tuple[str, ...]] = dataclasses.field(default_factory=dict)
    problems: dict[str, str] = dataclasses.field(default_factory=dict)
    kept: list[str] = dataclasses.field(default_factory=list)

    @property
    def looks(self) -> object:
        """Return a value that is equal for looks without progress."""
        # Not the texts of problems: they name requests.
        return sorted(self.left.items()), sorted(self.problems)

    @property
    def done(self) -> bool:
        """Return whether nothing is left to do."""
        return not self.left and not self.problems

    @property
    def remaining(self) -> str:
        """Return ``left`` in words, without "; "."""
        return " and ".join(
            f"{kind} still to be deleted: {errors.shortened(names, _NAMED)}"
            for kind, names in self.left.items()
        )

    @property
    def reasons(self) -> str:
        """Return ``problems`` and ``kept`` in words."""
        problems = (
            f"{kind} can't be deleted: {why}"
            for kind, why in self.problems.items()
        )
        return "; ".join([*problems, *self.kept])

    def __str__(self) -> str:
        return "; ".join(filter(None, (self.remaining, self.reasons)))


@dataclasses.dataclass(frozen=True)
class _Thing:
    """An object to delete; not yet, while it is busy."""

    id: str
    name: str
    busy: bool = False


def sweep(
    session: Any,
    project: str,
    release: str,
    *,
    volumes: bool,
    clock: Callable[[], float] = time.monotonic,
) -> Outcome:
    """Find objects that a cluster's workloads left, and delete them.

    :param project: of the objects; the session may see those of others
    :param volumes: delete volumes and snapshots as well
    :param clock: monotonic seconds
    """
    look = _Look(session, project, release, clock, clock() + _SECONDS)
    # A slow Cinder must not use up the time for load balancers: the network
    # can't be deleted before them.
    for kinds in (_KINDS[:3], _KINDS[3:] if volumes else ()):
        # Load balancers are found before their addresses, and deleted after.
        things = [(kind, look.find(kind)) for kind in reversed(kinds)]
        for kind, of_kind in reversed(things):
            look.delete(kind, of_kind)
    return look.outcome


@dataclasses.dataclass(frozen=True)
class _Look:
    """One look at a project, with its outcome so far.

    :param until: end of the time to begin deletions
    :param apis: service -> its proxy, or the error instead
    :param ports: those of the load balancers of Services
    """

    session: Any
    project: str
    release: str
    clock: Callable[[], float]
    until: float
    apis: dict[str, Any] = dataclasses.field(default_factory=dict)
    ports: set[str] = dataclasses.field(default_factory=set)
    outcome: Outcome = dataclasses.field(default_factory=Outcome)

    def find(self, kind: _Kind) -> list[_Thing]:
        """Return the cluster's objects; none if the cloud lacks the service.

        A failure becomes a problem of the kind.
        """
        try:
            with sessions.asking(kind.words):
                return list(kind.find(self, self._api(kind.service)))
        except errors.CloudError as error:
            if not sessions.is_not_offered(error):
                self.outcome.problems[kind.words] = str(error)
            return []

    def _api(self, service: str) -> Any:
        """Return a service's proxy; one that failed is not tried again."""
        if service not in self.apis:
            try:
                self.apis[service] = sessions.proxy(self.session, service)
            except errors.CloudError as error:
                self.apis[service] = error
        api = self.apis[service]
        if isinstance(api, errors.CloudError):
            raise api
        return api

    def delete(self, kind: _Kind, things: list[_Thing]) -> None:
        """Delete objects, as far as the service and the time allow."""
        left = []
        for each in things:
            if not self._delete_one(kind, each):
                left.append(each.name)
        if left:
            self.outcome.left[kind.words] = tuple(left)

    def _delete_one(self, kind: _Kind, thing: _Thing) -> bool:
        """Begin the deletion of an object; return whether it is gone."""
        # A service that refuses one is not asked for the others.
        late = self.clock() > self.until or kind.words in self.outcome.problems
        if thing.busy or late:
            return False
        try:
            with sessions.asking(thing.name):
                kind.delete(self.apis[kind.service], thing.id)
        except errors.CloudError as error:
            if not sessions.busy(error):
                self.outcome.problems[kind.words] = str(error)
            return False
        return kind.at_once

    def balancers(self, api: Any) -> Iterator[_Thing]:
        """Yield the load balancers of Services; note their ports."""
        for each in api.load_balancers(project_id=self.project):
            name, state = str(each.name), str(each.provisioning_status)
            if state == "DELETED" or not is_balancer_of(name, self.release):
                continue
            if is_shared(each.tags or (), self.release):
                self.outcome.kept.append(
                    f"load balancer {name} stays: another cluster uses it"
                )
                continue
            self.ports.add(str(each.vip_port_id))
            yield _Thing(str(each.id), name, state not in _SETTLED)

    def addresses(self, api: Any) -> Iterator[_Thing]:
        """Yield the floating IPs of Services, unless others use them.

        And that of an API without load balancer: CAPO leaves it if Nova did
        not show it with the server (``removeAPIServerEndpoint`` in
        ``openstackmachine_controller.go`` of 0.14.6). No port has it then.
        """
        for each in api.ips(project_id=self.project):
            text, port = each.description or "", each.port_id
            name = str(each.floating_ip_address)
            if not port and is_described(text, API_ADDRESS, self.release):
                yield _Thing(str(each.id), name)
            if not is_described(text, ADDRESS, self.release):
                continue
            if not port or port in self.ports:
                yield _Thing(str(each.id), name)
            elif _BALANCERS in self.outcome.problems:
                yield _Thing(str(each.id), name, busy=True)
            else:
                self.outcome.kept.append(
                    f"floating IP {name} stays: something else uses it"
                )

    def groups(self, api: Any) -> Iterator[_Thing]:
        """Yield the security groups of Services."""
        for each in api.security_groups(project_id=self.project):
            if is_described(each.description or "", GROUP, self.release):
                yield _Thing(str(each.id), str(each.name))

    def stored(self, listed: Callable[..., Any]) -> Iterator[_Thing]:
        """Yield volumes or snapshots of claims."""
        # Cinder filters by project only where it is asked for all of them,
        # which it grants to admins alone: a cluster sees its own anyway.
        query: dict[str, Any] = {}
        if self.session.get_project_id() != self.project:
            query = {"all_projects": True, "project_id": self.project}
        for each in listed(details=True, **query):
            if is_claim_of(each.metadata or {}, self.release):
                state = str(each.status).upper()
                name = str(each.name or each.id)
                yield _Thing(str(each.id), name, state not in _SETTLED)


@dataclasses.dataclass(frozen=True)
class _Kind:
    """A kind of object that workloads leave.

    :param at_once: an object is gone when the service answers, not later
    """

    words: str
    service: str
    find: Callable[[_Look, Any], Iterator[_Thing]]
    delete: Callable[[Any, str], Any]
    at_once: bool = False


#: In the order of deletion: no volume goes before its snapshots.
_KINDS = (
    _Kind(
        "floating IPs of Kubernetes Services",
        "network",
        _Look.addresses,
        lambda api, id_: api.delete_ip(id_),
        at_once=True,
    ),
    _Kind(
        _BALANCERS,
        "load-balancer",
        _Look.balancers,
        lambda api, id_: api.delete_load_balancer(id_, cascade=True),
    ),
    _Kind(
        "security groups of Kubernetes Services",
        "network",
        _Look.groups,
        lambda api, id_: api.delete_security_group(id_),
        at_once=True,
    ),
    _Kind(
        "snapshots of Kubernetes volumes",
        "block-storage",
        lambda look, api: look.stored(api.snapshots),
        lambda api, id_: api.delete_snapshot(id_),
    ),
    _Kind(
        "Kubernetes volumes",
        "block-storage",
        lambda look, api: look.stored(api.volumes),
        lambda api, id_: api.delete_volume(id_),
    ),
)


#: Names of load balancers, and their tags: one for each Service.
_SERVICE = "kube_service_"
#: Begins and ends of descriptions; the end has the cluster's release.
ADDRESS = ("Floating IP for Kubernetes external service ", " from cluster {}")
GROUP = ("Security Group for ", " Service LoadBalancer in cluster {}")
#: CAPO's, for the Kubernetes API: between both is the cluster's namespace.
API_ADDRESS = ("Created by cluster-api-provider-openstack cluster ", "-{}")
#: Metadata of volumes and snapshots: the cluster.
_CLUSTER = "cinder.csi.openstack.org/cluster"
#: Metadata by which users keep a volume; cluster-api-janitor-openstack's.
_KEEP = "janitor.capi.azimuth-cloud.com/keep"


def is_balancer_of(name: str, release: str) -> bool:
    """Return whether a load balancer was made for a Service of the cluster.

    The one of the Kubernetes API has another name, and belongs to Cluster
    API's provider.
    """
    return name.startswith(f"{_SERVICE}{release}_")


def is_shared(tags: Iterable[str], release: str) -> bool:
    """Return whether a load balancer serves Services of other clusters too."""
    return any(
        tag.startswith(_SERVICE) and not is_balancer_of(tag, release)
        for tag in tags
    )


def is_described(text: str, wording: tuple[str, str], release: str) -> bool:
    """Return whether a description is that of an object of the cluster.

    A floating IP that the user made, and named in a Service, has the user's
    text.

    :param wording: such as :data:`ADDRESS`
    """
    begin, end = wording
    return text.startswith(begin) and text.endswith(end.format(release))


def is_claim_of(metadata: Mapping[str, str], release: str) -> bool:
    """Return whether a volume or snapshot may go with the cluster.

    A user can mark volumes of the cluster that are to be kept.
    """
    return metadata.get(_CLUSTER) == release and metadata.get(_KEEP) != "true"
