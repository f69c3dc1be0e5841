# SPDX-License-Identifier: Apache-2.0

"""What an operator should know of a cluster before 1.4.0 is swapped."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from magnum_capi_helm.features import networking
from magnum_capi_helm.model import stranded
from magnum_capi_helm.swap import evidence
from magnum_capi_helm.swap import finding
from magnum_capi_helm.swap import given
from magnum_capi_helm.swap import validity

#: One kind of finding.
Finder = Callable[
    [evidence.Subject, evidence.Surroundings], Iterator[finding.Finding]
]


def findings(
    subject: evidence.Subject, around: evidence.Surroundings
) -> list[finding.Finding]:
    """All that is found of a cluster, how it is first."""
    return [each for find in _FINDERS for each in find(subject, around)]


def status(
    subject: evidence.Subject, _: evidence.Surroundings
) -> Iterator[finding.Finding]:
    """What Magnum says now, and what this driver would say."""
    level, what, remedy = _status(subject)
    yield finding.Finding(level, "status", what, remedy)


def _status(subject: evidence.Subject) -> tuple[str, str, str]:
    row, live = subject.status, subject.live
    if subject.silence:
        return (
            finding.ACT,
            f"{row}; its management cluster could not be read: "
            f"{subject.silence}",
            "let it answer, and make the report again",
        )
    if not subject.release:
        return finding.NOTE, f"{row}; nothing was ever made for it", ""
    if row.endswith("_IN_PROGRESS"):
        return finding.ACT, f"{row}; here: {_verdict(live)}", "let it end"
    if live is None:
        return (
            finding.ACT,
            f"{row}; the management cluster has nothing of it",
            "see that [capi_helm] kubeconfig_file is the right one; if it "
            "is, delete the cluster",
        )
    if live.reason:
        return (
            finding.ACT,
            f"{row}; here: {live.reason}",
            "look at it before the swap",
        )
    if row.endswith("_FAILED"):
        return (
            finding.NOTE,
            f"{row}; here: complete, and the first health poll says so",
            "",
        )
    return finding.OK, f"{row}; here: complete", ""


def _verdict(live: evidence.Live | None) -> str:
    if live is None:
        return "nothing of it is on the management cluster"
    return live.reason or "complete"


def chart(
    subject: evidence.Subject, around: evidence.Surroundings
) -> Iterator[finding.Finding]:
    """Whether the chart that it has can be had: the next change needs it."""
    live = subject.live
    if live is None:
        return
    if not live.chart:
        yield _act(
            "chart",
            "helm has deployed no revision of it, so nobody knows its chart",
            "delete the cluster, or let 1.4.0 resize it to its own count",
        )
        return
    problem = around.charts.get(live.chart, "")
    if problem:
        yield _act(
            "chart",
            f"chart {live.chart} is needed for each change: {problem}",
            f"magnum-capi-helm chart fetch {live.chart} --from PLACE",
        )
    else:
        yield _ok("chart", f"chart {live.chart}")


def versions(
    subject: evidence.Subject, _: evidence.Surroundings
) -> Iterator[finding.Finding]:
    """Whether helm can read what the manifest of the release has."""
    live = subject.live
    if live is None:
        return
    found = live.outlook
    if found.state == stranded.OK:
        if live.versions:
            yield _ok("API versions", finding.listed(sorted(live.versions), 9))
        return
    what = (
        "its manifest names what the management cluster does not serve: "
        "1.4.0 can neither change nor delete it"
    )
    if found.state == stranded.REPAIRED:
        yield finding.Finding(
            finding.NOTE,
            "API versions",
            f"{what}; this driver can, and puts the record right",
        )
    else:
        yield _act("API versions", what, f"with this driver: {found.detail}")


def damaged(
    subject: evidence.Subject, _: evidence.Surroundings
) -> Iterator[finding.Finding]:
    """What is there and can't be read."""
    for each in subject.live.damaged if subject.live else ():
        yield _act("damage", each, "see what became of it")


def network(
    subject: evidence.Subject, _: evidence.Surroundings
) -> Iterator[finding.Finding]:
    """Magnum's default network driver, which the chart does not have."""
    driver = subject.template.network_driver
    if not driver or driver in networking.CNIS:
        return
    values: Any = subject.live.values if subject.live else {}
    has = ((values.get("addons") or {}).get("cni") or {}).get("type")
    if has and has not in networking.CNIS:
        yield _act(
            "network driver",
            f"it was made with {has}, which the chart does not have: its "
            "pods have no network, and no upgrade gives it one",
            "let its owner make another one; new clusters of the template "
            f"get {networking.CNIS[0]}",
        )
    else:
        yield _act(
            "network driver",
            f"its template says {driver}: an operation of 1.4.0 takes the "
            "pods' network away; this driver leaves it alone",
            "no operation of 1.4.0 on it any more",
        )


def images(
    subject: evidence.Subject, around: evidence.Surroundings
) -> Iterator[finding.Finding]:
    """Images that machines are made from."""
    for ref in sorted(image_refs(subject)):
        if ref in around.images and around.images[ref] is None:
            yield _act(
                "image",
                f"Glance has no image {ref}, or it does not say what it is: "
                "no machine can be added, repaired or replaced",
                "bring the image back, or upgrade the cluster to a template "
                "whose image exists",
            )


def image_refs(subject: evidence.Subject) -> frozenset[str]:
    """The images of a cluster; of one that is not there, the template's."""
    found = frozenset(_parts(subject, "machineImageId"))
    return found or frozenset(filter(None, [subject.template.image]))


def flavors(
    subject: evidence.Subject, around: evidence.Surroundings
) -> Iterator[finding.Finding]:
    """Flavors that machines are made of."""
    if around.flavors is None:
        return
    wanted = set(_parts(subject, "machineFlavor"))
    for ref in sorted(wanted - around.flavors):
        yield _act(
            "flavor",
            f"Nova has no flavor {ref}: no machine of it can be added, "
            "repaired or replaced",
            "make a flavor of that name again, or move the work to another "
            "nodegroup",
        )


def keypair(
    subject: evidence.Subject, around: evidence.Surroundings
) -> Iterator[finding.Finding]:
    """The key that Nova looks up for each new machine."""
    if around.keypairs.get((subject.user, subject.keypair)) is False:
        yield _act(
            "keypair",
            f"the user {subject.user} has no keypair {subject.keypair}: no "
            "machine can be added, repaired or replaced",
            "let the user import the public key again under that name",
        )


def _parts(subject: evidence.Subject, key: str) -> Iterator[str]:
    """What the values say in all places of a key."""
    values: Any = subject.live.values if subject.live else {}
    for part in (
        values,
        values.get("controlPlane") or {},
        values.get("nodeGroupDefaults") or {},
        *(values.get("nodeGroups") or []),
    ):
        if part.get(key):
            yield str(part[key])


_FINDERS: tuple[Finder, ...] = (
    status,
    chart,
    versions,
    damaged,
    given.effective,
    given.refused,
    given.fields,
    network,
    images,
    flavors,
    keypair,
    validity.credential,
    validity.certificates,
)


def _act(about: str, what: str, remedy: str) -> finding.Finding:
    return finding.Finding(finding.ACT, about, what, remedy)


def _ok(about: str, what: str) -> finding.Finding:
    return finding.Finding(finding.OK, about, what)
