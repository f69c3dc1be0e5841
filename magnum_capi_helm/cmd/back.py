# SPDX-License-Identifier: Apache-2.0

"""``magnum-capi-helm check --rollback``: what 1.4.0 would break."""

from __future__ import annotations

from magnum_capi_helm import driver
from magnum_capi_helm.cmd import adopt
from magnum_capi_helm.swap import back
from magnum_capi_helm.swap import case
from magnum_capi_helm.swap import evidence
from magnum_capi_helm.swap import finding
from magnum_capi_helm.swap import witnesses

HEADER = ("Project", "Name", "UUID", "Level", "About", "What", "Prevented by")


def report(project: str | None) -> list[finding.Line]:
    """All findings about the first operation of 1.4.0 on each cluster.

    :param project: whose clusters; None: everybody's
    """
    found = witnesses.subjects(project, driver.Driver().provides)
    around = witnesses.surroundings(found, whole=False)
    options = witnesses.options()
    lines = adopt.silences(around)
    if best := back.option(found, options):
        lines.append(adopt.line(None, best))
    chart = back.default_chart(found, options)
    for subject in found:
        lines += _of(subject, around, options, chart)
    return lines


def _of(
    subject: evidence.Subject,
    around: evidence.Surroundings,
    options: evidence.Options,
    chart: str,
) -> list[finding.Line]:
    """The findings of one cluster, how it is first."""
    live = subject.live
    found = []
    if live is not None and live.chart:
        found = back.findings(
            case.Case(
                subject=subject,
                live=live,
                options=options,
                image=around.images.get(subject.template.image),
                known=subject.template.image in around.images,
                chart=chart,
            )
        )
    first = _status(subject, broken=bool(found))
    return [adopt.line(subject, each) for each in (first, *found)]


def _status(subject: evidence.Subject, *, broken: bool) -> finding.Finding:
    if subject.silence:
        return finding.Finding(
            finding.ACT, "status", f"not read: {subject.silence}"
        )
    if not subject.live:
        return finding.Finding(finding.OK, "status", "there is nothing of it")
    if not subject.live.chart:
        what = "nobody can say: no revision of it was deployed, or read"
        return finding.Finding(finding.ACT, "status", what)
    if broken:
        what = "an operation of 1.4.0 changes more than was asked for"
        return finding.Finding(finding.NOTE, "status", what)
    what = "an operation of 1.4.0 changes what was asked for, and no more"
    return finding.Finding(finding.OK, "status", what)
