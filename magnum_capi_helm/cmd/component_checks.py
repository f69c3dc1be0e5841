# SPDX-License-Identifier: Apache-2.0

"""What ``check`` says of versions: those that run, those that were tested.

One LIST of Deployments, which the driver's user may make anyway: helm makes
those of clusters. A user that may not is told so, and nothing fails.
"""

from __future__ import annotations

from collections.abc import Iterator

from magnum_capi_helm import runtime
from magnum_capi_helm.management import answers
from magnum_capi_helm.management import kinds
from magnum_capi_helm.model import components
from magnum_capi_helm.model import errors
from magnum_capi_helm.model import supported
from magnum_capi_helm.model import tested_versions
from magnum_capi_helm.resolve import requested

_ALL = "versions"


def on_management_cluster(rt: runtime.Runtime) -> Iterator[components.Line]:
    """A line for each component on a management cluster."""
    chart, release, why = _tested()
    if release is None:
        yield components.Line(_ALL, components.UNKNOWN, why)
        return
    try:
        deployments = rt.management.list(
            kinds.DEPLOYMENT, None, components.SELECTOR
        )
    except answers.ForbiddenError as error:
        yield components.Line(_ALL, components.UNKNOWN, str(error))
    except errors.CapiHelmError as error:
        yield components.Line(_ALL, components.FAILED, str(error))
    else:
        for each in components.compare(deployments, release, chart):
            yield _named(each)


def on_conductor(rt: runtime.Runtime) -> Iterator[components.Line]:
    """A line for what runs on this host: helm.

    What there is to say of a helm that doesn't run is said elsewhere.
    """
    chart, release, _ = _tested()
    if release is None:
        return
    try:
        found = rt.helm.version()
    except errors.CapiHelmError:
        return
    yield _named(components.helm(found, release.helm, chart))


def _tested() -> tuple[str, tested_versions.Release | None, str]:
    """The chart's version, what it was tested with, or why nobody knows."""
    try:
        chart = requested.default_chart().version
        why = f"what chart {chart} was tested with is not known"
        return chart, supported.find(chart), why
    except errors.CapiHelmError as error:
        return "", None, str(error)


def _named(line: components.Line) -> components.Line:
    """As one of many lines: of what it says the version."""
    return components.Line(f"{line.name} version", line.state, line.detail)
