# SPDX-License-Identifier: Apache-2.0

"""Horizon as a user has it before them: what to click, and what is shown."""

from __future__ import annotations

from typing import Any

from playwright import sync_api

URL = "http://127.0.0.1:8880"
_CLUSTERS = "/project/clusters"
_TABLE = "hz-resource-table table"
_DIALOG = ".modal-dialog"
_NO_LIST = "Unable to retrieve the clusters."
_LOADS = 20
# AngularJS has no request under way and nothing moves but spinners: before
# that a table without rows says nothing, and dialogs are half transparent.
_SETTLED = """() => {
  const injector = window.angular
    && angular.element(document.body).injector();
  return document.readyState === "complete"
    && (!injector
      || injector.get("$http").pendingRequests.length === 0)
    && !(window.jQuery && jQuery(":animated").length)
    && document.getAnimations().every(each =>
      each.playState !== "running"
      || each.effect.getComputedTiming().endTime === Infinity);
}"""


class Dashboard:
    """What one user does in one tab."""

    def __init__(self, page: sync_api.Page) -> None:
        self.page = page

    def settle(self) -> None:
        """Wait until nothing is under way any more."""
        self.page.wait_for_function(_SETTLED)

    def log_in(self, name: str, password: str) -> None:
        """Log in by the form."""
        self.page.goto(f"{URL}/auth/login/")
        self.page.fill("#id_username", name)
        self.page.fill("#id_password", password)
        self.page.click("#loginBtn")
        self.page.wait_for_selector(".topbar .navbar-brand")
        self.settle()

    # The list of clusters

    def open_clusters(self) -> None:
        """The list as it is now: it does not renew itself.

        Loaded again where Magnum can't show it: a cluster that begins, or
        ends, is without its nodegroups for a moment, and no list is then.
        """
        for _ in range(_LOADS):
            self.page.goto(URL + _CLUSTERS)
            self.page.wait_for_selector(_TABLE)
            self.settle()
            if not self.page.get_by_text(_NO_LIST).count():
                return
        raise AssertionError(f"{_LOADS} times: {_NO_LIST}")

    def clusters(self) -> dict[str, dict[str, str]]:
        """Name -> what a row of the list says, by column."""
        self.open_clusters()
        names = self._texts(f"{_TABLE} thead tr:last-of-type th")
        found = {}
        for row in self.page.locator(f"{_TABLE} tbody tr:has(input)").all():
            cells = [
                text.strip() for text in row.locator("td").all_inner_texts()
            ]
            texts = dict(zip(names, cells, strict=False))
            found[texts["Name"]] = texts
        return found

    def expand(self, cluster: str) -> dict[str, str]:
        """Open what is below a cluster's row: its entries."""
        row = self._row(cluster)
        row.locator("span.fa-chevron-right").click()
        drawer = row.locator("xpath=following-sibling::tr[1]")
        drawer.get_by_text("Status Reason", exact=True).last.wait_for()
        self.settle()
        return self._entries(drawer)

    def details(self, cluster: str) -> dict[str, str]:
        """The entries of a cluster's own page."""
        self._row(cluster).get_by_role("link", name=cluster).click()
        self.page.wait_for_selector("dl.dl-horizontal")
        self.settle()
        return self._entries(self.page.locator("body"))

    # What is done to clusters

    def act(self, cluster: str, action: str) -> None:
        """Choose something from the menu of a cluster's row."""
        row = self._row(cluster)
        row.locator(".split-caret").click()
        # By its text: the names of some begin with that of an icon.
        row.locator("[role=menuitem]", has_text=action).click()
        self._dialog_is_there()

    def open_creation(self) -> None:
        """The dialog that makes a cluster."""
        self.page.get_by_role("button", name="Create Cluster").click()
        self._dialog_is_there()

    def step(self, name: str) -> None:
        """Another step of the dialog."""
        self.page.locator(f"{_DIALOG} a", has_text=name).first.click()
        self.settle()

    def fill(self, field: str, value: str) -> None:
        """Write into a field of the dialog."""
        self._field(field).fill(value)
        self.settle()

    def choose(self, field: str, label: str) -> None:
        """Choose an option of the dialog by what it is called."""
        self._field(field).select_option(label=label)
        self.settle()

    def chosen(self, field: str) -> str:
        """What an option of the dialog is."""
        found = self._field(field).locator("option:checked")
        return str(found.inner_text()).strip()

    def tick_one_of(self, name: str) -> None:
        """Tick one of several boxes, by what is written beside it."""
        self.page.locator(_DIALOG).get_by_label(name).check()
        self.settle()

    def submit(self) -> list[str]:
        """Send the dialog; all that Horizon says of it."""
        return self._told_after(".btn-primary")

    def confirm(self) -> list[str]:
        """Say yes to what can't be undone; all that Horizon says of it."""
        return self._told_after(".btn-danger")

    def _told_after(self, button: str) -> list[str]:
        self.page.locator(f"{_DIALOG} {button}").click()
        told = self.page.locator(".alert-success, .alert-danger")
        told.first.wait_for()
        self.settle()
        return [text.strip() for text in told.all_inner_texts()]

    def _dialog_is_there(self) -> None:
        self.page.wait_for_selector(_DIALOG)
        self.settle()

    def _field(self, name: str) -> sync_api.Locator:
        return self.page.locator(f"{_DIALOG} [name={name}]")

    # Reading

    def _row(self, cluster: str) -> sync_api.Locator:
        link = self.page.get_by_role("link", name=cluster, exact=True)
        return self.page.locator(f"{_TABLE} tbody tr", has=link)

    def _texts(self, selector: str) -> list[str]:
        found: list[Any] = self.page.locator(selector).all_inner_texts()
        return [str(text).strip() for text in found]

    def _entries(self, within: sync_api.Locator) -> dict[str, str]:
        """Term -> all that follows it up to the next one."""
        found: dict[str, str] = {}
        for each in within.locator("dl:visible").all():
            term = ""
            for part in each.locator("xpath=./dt | ./dd | ./pre").all():
                text = part.inner_text().strip()
                if part.evaluate("node => node.tagName") == "DT":
                    term = text
                    found[term] = ""
                else:
                    found[term] = f"{found[term]}\n{text}".strip()
        return found
