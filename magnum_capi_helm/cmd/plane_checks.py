# SPDX-License-Identifier: Apache-2.0

"""What ``check`` looks at on a management cluster."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
import datetime
import time

from magnum_capi_helm import runtime
from magnum_capi_helm.config import conf
from magnum_capi_helm.lifecycle import leftovers
from magnum_capi_helm.management import answers
from magnum_capi_helm.management import endings
from magnum_capi_helm.management import kinds
from magnum_capi_helm.management import permissions
from magnum_capi_helm.model import errors

#: Seconds by which two clocks may differ. A certificate is not valid before
#: the moment at which it was signed, by the clock of whoever signed it.
CLOCKS = 60.0
#: Permissions that are listed; more than these are counted.
_LISTED = 8

_PROVIDERS = {
    "cluster.x-k8s.io": "Cluster API",
    "bootstrap.cluster.x-k8s.io": "its kubeadm bootstrap provider",
    "controlplane.cluster.x-k8s.io": "its kubeadm control plane provider",
    "infrastructure.cluster.x-k8s.io": "its OpenStack provider (CAPO)",
    "addons.stackhpc.com": "cluster-api-addon-provider",
}


class NoWayInError(errors.CapiHelmError):
    """Nothing can be asked of the management cluster: no use in trying."""


def kubeconfig(rt: runtime.Runtime) -> str:
    """It can be used, and has not ended."""
    path = _path(rt)
    try:
        found = rt.management.ends()
    except errors.NotConfigured as error:
        raise NoWayInError(str(error)) from error
    return ", ".join([path, *(_until(each) for each in found)])


def _path(rt: runtime.Runtime) -> str:
    return rt.home.kubeconfig or conf.kubeconfig_path()


def _until(ending: endings.Ending) -> str:
    return f"{ending.what} until {_moment(ending.moment)}"


def _moment(seconds: float) -> str:
    found = datetime.datetime.fromtimestamp(seconds, datetime.timezone.utc)
    return found.strftime("%Y-%m-%d %H:%M UTC")


def management(rt: runtime.Runtime) -> str:
    """One, and no other name of the same one."""
    try:
        found = rt.management.identity()
    except answers.UnauthorizedError as error:
        raise NoWayInError(_not_let_in(rt)) from error
    except answers.ForbiddenError:
        # It is there; what its user lacks is said of the permissions.
        raise
    except answers.UntrustedError as error:
        raise NoWayInError(str(error)) from error
    except errors.ManagementUnreachable as error:
        raise NoWayInError(
            f"{error}: see what 'kubectl --kubeconfig {_path(rt)} get --raw "
            "/readyz' says here"
        ) from error
    except errors.ManagementError as error:
        raise NoWayInError(str(error)) from error
    known = runtime.places().identities
    for name, identity in known.items():
        if identity == found and name != rt.home.name:
            raise errors.NotConfigured(
                f"cluster {found}, which is {name} as well: leave one of "
                "these names in [capi_helm] management_clusters"
            )
    runtime.places().identify(rt.home.name, found)
    return f"cluster {found}"


def _not_let_in(rt: runtime.Runtime) -> str:
    """What the API server says to everybody it does not know, explained."""
    now = time.time()
    over = [each for each in rt.management.ends() if each.moment < now]
    why = " and ".join(
        f"its {each.what} ended at {_moment(each.moment)}" for each in over
    )
    why = why or "what it shows is of another cluster, or was taken back"
    return (
        "the kubeconfig's user is not let in (401 Unauthorized): "
        f"{why}: make a new kubeconfig, and put it into {_path(rt)}"
    )


def clock(rt: runtime.Runtime) -> str:
    """This host's is that of the management cluster."""
    before = time.time()
    date = rt.management.date()
    if date is None:
        return "not known: the management cluster sends no date"
    found = ahead(before, date, time.time())
    way = "ahead of" if found > 0 else "behind"
    told = f"this host is {_lasting(abs(found))} {way} the management cluster"
    if abs(found) <= CLOCKS:
        return told if found else "the same as the management cluster's"
    raise errors.NotConfigured(
        f"{told}, more than {CLOCKS:.0f} s: certificates that one of them "
        "signs are not valid for the other; set the clocks of both by NTP"
    )


def _lasting(seconds: float) -> str:
    return f"{seconds:.0f} s" if seconds < 120 else f"{seconds / 60:.0f} min"


def ahead(before: float, date: float, after: float) -> float:
    """Seconds by which this host's clock is ahead, at least; 0: it may be 0.

    :param before: when the date was asked for, by this host's clock
    :param date: whole seconds, of some moment in between
    :param after: when it was there
    """
    least, most = before - (date + 1), after - date
    if least <= 0 <= most:
        return 0.0
    return least if least > 0 else most


def maintenance(rt: runtime.Runtime) -> str:
    """It is not frozen."""
    found = rt.anchor.read().freeze
    if found is not None:
        who = f" by {found.by}" if found.by else ""
        raise errors.NotConfigured(
            f"it is frozen{who}: {found.reason}; 'magnum-capi-helm thaw "
            "--apply' ends that"
        )
    return "none"


def new_clusters(rt: runtime.Runtime) -> str:
    """What is made on one of several management clusters."""
    home = rt.home
    if not home.weight:
        return "none"
    whose = f"of projects {', '.join(home.projects)}" if home.projects else ""
    where = f"in zones {', '.join(home.zones)}" if home.zones else ""
    asked = "of templates that name it" if home.only_labelled else ""
    limits = " ".join(filter(None, (whose, where, asked))) or "any"
    return f"{limits} (weight {home.weight})"


def allowed(rt: runtime.Runtime) -> str:
    """The user of the kubeconfig may do what the driver does."""
    refused = permissions.missing(rt.management)
    if refused:
        raise errors.NotConfigured(
            f"the kubeconfig's user may not {_some(map(str, refused))}: "
            "apply what 'magnum-capi-helm permissions' prints, or give it "
            "these"
        )
    return "all that the driver needs"


def _some(texts: Iterable[str]) -> str:
    every = list(texts)
    left = len(every) - _LISTED
    more = [f"and {left} more"] if left > 0 else []
    return ", ".join([*every[:_LISTED], *more])


def interfaces(rt: runtime.Runtime) -> str:
    """Every kind that the driver needs is served in a version it knows.

    Kind by kind: of a group that is served, one may be missing.
    """
    served: dict[str, dict[str, frozenset[str]]] = {}
    found, missing = [], []
    for kind in kinds.ALL:
        if kind.fixed:
            continue
        group, _, version = rt.management.api_version(kind).rpartition("/")
        group = group or kind.group
        if group not in served:
            served[group] = rt.management.served(group)
        versions = served[group].get(kind.name, frozenset())
        if version in versions:
            found.append(f"{kind.name} {version}")
        elif kind is not kinds.OPENSTACK_SERVER:
            # CAPO before 0.11 has none; it says all on the OpenStackMachine.
            missing.append((kind, versions))
    if missing:
        raise errors.NotConfigured("; ".join(_missing(missing)))
    return ", ".join(found)


def _missing(
    found: Iterable[tuple[kinds.Kind, frozenset[str]]],
) -> Iterator[str]:
    """A sentence for each provider of which something is missing."""
    lines: dict[str, list[str]] = {}
    for kind, versions in found:
        wanted = " or ".join(kind.versions)
        instead = f", but {', '.join(sorted(versions))}" if versions else ""
        lines.setdefault(kind.group, []).append(
            f"no {kind.name} in {wanted}{instead}"
        )
    for group, words in lines.items():
        provider = _PROVIDERS[group]
        yield (
            f"the management cluster serves {', '.join(words)} of {group}: "
            f"install or upgrade {provider}, with all of its CRDs"
        )


def cleanup(rt: runtime.Runtime) -> str:
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
