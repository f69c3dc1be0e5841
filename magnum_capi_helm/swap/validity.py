# SPDX-License-Identifier: Apache-2.0

"""How old a cluster's credential is, and how long its certificates last."""

from __future__ import annotations

from collections.abc import Iterator

from magnum_capi_helm.swap import evidence
from magnum_capi_helm.swap import finding

_DAY = 86400.0
#: Days before its end in which a certificate needs somebody. Cluster API
#: renews that of the kubeconfig when half of its year is left.
_SOON = 90


def credential(
    subject: evidence.Subject, around: evidence.Surroundings
) -> Iterator[finding.Finding]:
    """The application credential, by which all its machines are made."""
    if subject.live is None:
        return
    found = subject.live.credential
    rotate = "openstack coe credential rotate, once this driver runs"
    if found is None:
        yield finding.Finding(
            finding.ACT,
            "credential",
            "it has no application credential",
            rotate,
        )
        return
    days = finding.counted(int((around.now - found.since) // _DAY), "day")
    age = f"application credential of {found.day}, {days} old"
    if found.works is False:
        yield finding.Finding(
            finding.ACT,
            "credential",
            f"{age}: Keystone refuses it, and this driver's health poll "
            "will say so",
            rotate,
        )
    else:
        yield finding.Finding(finding.OK, "credential", age)


def certificates(
    subject: evidence.Subject, around: evidence.Surroundings
) -> Iterator[finding.Finding]:
    """The CAs, which nothing renews, the kubeconfig's, and the machines'."""
    if subject.live is None or not subject.live.certificates:
        return
    fine = []
    for each in sorted(subject.live.certificates, key=lambda c: c.until):
        days = (each.until - around.now) / _DAY
        if days >= _SOON:
            fine.append(f"{each.name} until {each.day}")
            continue
        yield finding.Finding(
            finding.ACT,
            "certificate",
            f"{each.name} {'was' if days < 0 else 'is'} valid until "
            f"{each.day}",
            _RENEWAL.get(each.name, _NO_RENEWAL).format(subject.uuid),
        )
    if fine:
        yield finding.Finding(finding.OK, "certificate", ", ".join(fine))


_RENEWAL = {
    "kubeconfig": "Cluster API renews it: see why it does not",
    evidence.MACHINES: (
        "magnum-capi-helm renew {} --apply, once this driver runs"
    ),
}
_NO_RENEWAL = (
    "Cluster API can't replace it: let its owner move to another cluster"
)
