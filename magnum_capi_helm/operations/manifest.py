# SPDX-License-Identifier: Apache-2.0
"""The manifest of a release: the deployed one, and the one helm would make."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import yaml

from magnum_capi_helm import runtime
from magnum_capi_helm.chart import values
from magnum_capi_helm.helm import releases
from magnum_capi_helm.management import snapshot
from magnum_capi_helm.model import desired_state
from magnum_capi_helm.status import view

Object = dict[str, Any]


def parsed(text: str) -> tuple[Object, ...]:
    """Return the objects of a manifest."""
    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    found = yaml.load_all(text, Loader=loader)
    return tuple(each for each in found if isinstance(each, dict))


def rendered(
    rt: runtime.Runtime, scope: snapshot.Scope, wanted: desired_state.Intent
) -> tuple[Object, ...]:
    """Return the objects that helm would apply.

    :raises HelmError: the chart does not accept the values
    """
    text = rt.helm.render(
        scope[1],
        scope[0],
        rt.charts.ensure(wanted.chart),
        values.stamped(wanted.values, wanted.fingerprint),
        live=True,
    )
    return parsed(text)


def deployed(
    rt: runtime.Runtime,
    scope: snapshot.Scope,
    revisions: Iterable[view.Revision],
) -> releases.Release | None:
    """Return the newest revision that helm deployed; None: there is none.

    :param revisions: of the release, the newest last
    :raises HelmError: its record can't be read
    """
    for revision in reversed(tuple(revisions)):
        if revision.status == "deployed":
            found = releases.read(rt.management, *scope, revision.version)
            if found is not None:
                return found
    return None
