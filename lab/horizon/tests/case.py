# SPDX-License-Identifier: Apache-2.0

"""A test with a browser of its own, in which the user "demo" is logged in."""

from __future__ import annotations

import contextlib
import pathlib
from typing import Any
import urllib.error
import urllib.request

from playwright import sync_api
from testtools import content

from lab.horizon.tests import dashboard
from lab.horizon.tests import pictures
from magnum_capi_helm.tests.functional import base

_CHROMIUM = pathlib.Path("/usr/bin/chromium")
# It runs as root in containers, and asks nobody but Horizon for anything.
_FLAGS = (
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-gpu",
    "--disable-quic",
    "--disable-sync",
    "--headless",
    "--no-first-run",
    "--no-sandbox",
)
_SIZE = sync_api.ViewportSize(width=1360, height=900)
_NOISE = (
    # magnum-ui leaves a promise of its dialogs without anybody who takes it.
    "Possibly unhandled rejection: undefined",
    # Magnum could not list clusters, as is told on the page, too.
    "/api/container_infra/clusters/'",
    "Cannot read properties of undefined (reading 'data')",
)


class HorizonCase(base.LabCase):
    """One user, one tab."""

    def setUp(self) -> None:
        super().setUp()
        self._need_programs()
        pictures.SHOTS.mkdir(parents=True, exist_ok=True)
        driver = sync_api.sync_playwright().start()
        self.addCleanup(driver.stop)
        browser = driver.chromium.launch(
            executable_path=_CHROMIUM, args=list(_FLAGS)
        )
        self.addCleanup(browser.close)
        self.page = browser.new_page(
            viewport=_SIZE, locale="en-GB", timezone_id="UTC"
        )
        self.page.set_default_timeout(60_000 * base.SLOWER)
        self.addOnException(self._keep_page)
        self._complaints: list[str] = []
        self.page.on("console", self._listen)
        self.addCleanup(self._complained_of)
        self.horizon = dashboard.Dashboard(self.page)
        self.horizon.log_in("demo", "lab")

    def _need_programs(self) -> None:
        try:
            # The address is one of the lab's own.
            urllib.request.urlopen(  # noqa: S310
                f"{dashboard.URL}/auth/login/", timeout=60
            )
        except urllib.error.URLError:
            self.fail("no Horizon: `python3 -m lab up --horizon` first")
        if not _CHROMIUM.exists():
            self.fail(
                f"no {_CHROMIUM}: `apt-get install --no-install-recommends"
                " chromium fonts-dejavu-core` first"
            )

    def _listen(self, message: sync_api.ConsoleMessage) -> None:
        told = f"{message.text} {message.location}"
        if message.type == "error" and not any(
            each in told for each in _NOISE
        ):
            self._complaints.append(told)

    def _complained_of(self) -> None:
        """Nothing that the browser calls an error stays unnoticed."""
        self.assertEqual([], self._complaints)

    def complaint(self) -> str:
        """The one thing that the browser has complained of by now."""
        self.assertEqual(1, len(self._complaints), str(self._complaints))
        return self._complaints.pop()

    def _keep_page(self, _: Any) -> None:
        path = pictures.SHOTS / f"failed-{self.id().rpartition('.')[2]}.png"
        # The browser may be closed already, and an error of ours would take
        # the place of the test's.
        with contextlib.suppress(sync_api.Error):
            self.page.screenshot(path=path, timeout=30_000)
            self.addDetail("page", content.text_content(str(path)))

    def shot(self, name: str, part: str) -> None:
        """Keep what a part of the page looks like.

        :param part: a selector
        """
        self.page.mouse.move(0, 0)
        self.page.locator(part).first.screenshot(
            path=pictures.SHOTS / f"{name}.png"
        )

    def made(self, uuid: str) -> None:
        """Wait for a cluster that was made in the browser.

        It is deleted after the test.
        """
        self.addCleanup(self.delete, uuid)
        self.until(lambda: self._shown(uuid), 30)
