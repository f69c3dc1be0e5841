# SPDX-License-Identifier: Apache-2.0

"""The answers of OpenStack about the objects of a view."""

from __future__ import annotations

import types
from typing import Any

from magnum_capi_helm.cloud import faults
from magnum_capi_helm.status import view

_SCOPE = ("magnum-p", "demo")


def answered(seen: view.View, fault: view.Fault | None) -> view.View:
    """The view with one answer to all questions; None: nobody was asked."""
    asked = [e for each in seen.servers for e in faults.about_server(each)]
    if seen.infrastructure:
        asked += faults.about_network(seen.infrastructure)
    answers = {each: (0.0, fault) for each in asked} if fault else {}
    runtime: Any = types.SimpleNamespace(faults={_SCOPE: answers})
    return faults.with_faults(runtime, _SCOPE, seen)
