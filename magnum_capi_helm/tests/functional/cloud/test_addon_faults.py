# SPDX-License-Identifier: Apache-2.0

"""Users read why an addon is not installed.

``labinfra`` plays the addon provider.
"""

from __future__ import annotations

from typing import Any

import requests

from magnum_capi_helm.kubernetes import kinds
from magnum_capi_helm.status import view
from magnum_capi_helm.tests.functional import base
from magnum_capi_helm.tests.functional.cloud import fault_case

_CHART = 'chart "openstack-cloud-controller-manager" not found'


def _hold(seconds: int) -> None:
    """Let the addon provider do nothing for a time."""
    url = f"http://127.0.0.1:9547/addons?hold={seconds}s"
    requests.post(url, timeout=10).raise_for_status()


class AddonTest(fault_case.OneCluster):
    """One cluster, whose addons fail one after the other."""

    project = "demo"

    def test_each_fault_of_an_addon_is_named(self) -> None:
        self.make()
        self.complete("CREATE")
        self.addon = f"{self.name}-ccm-openstack"
        self._failed()
        self._stopped_provider()

    def _failed(self) -> None:
        self._annotate(base.ADDON_FAULT, _CHART)
        self.ask(self.uuid, 2)
        watch = self.watch(
            "an addon fails",
            self._phase,
            f"addon ccm-openstack: Failed: {_CHART}",
            where=fault_case.ADDONS,
        )
        self.until_named(watch)
        self._annotate(base.ADDON_FAULT, None)
        self.finish(watch)
        self.complete("UPDATE")

    def _stopped_provider(self) -> None:
        self.addCleanup(_hold, 0)
        _hold(600)
        # The credential is a value of addons.
        self.magnum.rotate(self.uuid)
        watch = self.watch(
            "the addon provider does nothing",
            lambda: "nothing",
            "addon .*: its latest change is still to be installed",
            where=fault_case.ADDONS,
        )
        self.until_named(watch)
        _hold(0)
        self.finish(watch)
        self.complete("UPDATE")

    def _live(self) -> Any:
        return self.plane.get(kinds.HELM_RELEASE, self.namespace, self.addon)

    def _phase(self) -> str:
        status = view.status_of(self._live())
        message = str(status.get("failureMessage") or "")
        return f"Failed: {message}" if message else ""

    def _annotate(self, name: str, text: str | None) -> None:
        self.plane.patch(
            kinds.HELM_RELEASE,
            self.namespace,
            self.addon,
            {"metadata": {"annotations": {name: text}}},
        )
