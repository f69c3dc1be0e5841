# SPDX-License-Identifier: Apache-2.0
"""``describe``: a cluster that is well, one that fails, and an upgrade."""

from __future__ import annotations

import io
import json
import re
import subprocess
from typing import Any

from rich import console

from magnum_capi_helm.cli import tree_output
from magnum_capi_helm.status import tree
from magnum_capi_helm.tests.functional import base
from magnum_capi_helm.tests.functional import programs
from magnum_capi_helm.tests.functional import records

_WIDTH = 79


class DescribeTest(base.LabCase):
    """The trees of the page are these, but for names."""

    def test_the_reason_stands_where_something_is_not_ready(self) -> None:
        well = self.cluster(self.template(), name="shop")
        newer = self.template(image_id="ubuntu-v1.35.1")
        full = self.cluster(
            self.template(flavor_id="m1.worker.nohost"), name="shop"
        )
        self.until_status(well, ("CREATE_COMPLETE",))
        self.until(lambda: self._health(well) == "HEALTHY", 120)
        self.until(lambda: self._code(well) == 0, 120, "ready")
        healthy = self._tree(self._json(well))
        upgrading = self._tree(self._upgraded(well, newer))
        self.until(
            lambda: self._waiting(full) == ["OpenStackServer"],
            120,
            "OpenStackServer",
        )
        found = self._json(full)
        self.assertIn("No valid host was found", found["reason"])
        failing = self._tree(found)
        page = records.page("describe")
        text = (
            f"# All is well\n{healthy}# An upgrade\n{upgrading}"
            f"# No room for a worker\n{failing}"
        )
        records.write("describe", text)
        for each in (healthy, failing):
            self.assertIn(each, page, text)

    def _upgraded(self, cluster: str, template: str) -> dict[str, Any]:
        """Return the tree at some moment of an upgrade."""
        self.magnum.call(
            "POST",
            f"/clusters/{cluster}/actions/upgrade",
            {"cluster_template": template, "max_batch_size": 1},
        )
        found: dict[str, Any] = self.until(lambda: self._making(cluster), 60)
        return found

    # What is printed

    def _run(self, *words: str) -> subprocess.CompletedProcess[str]:
        return programs.completed("describe", *words)

    def _health(self, cluster: str) -> str | None:
        found: str | None = (self.magnum.find(cluster) or {})["health_status"]
        return found

    def _code(self, cluster: str) -> int:
        return self._run(cluster).returncode

    def _json(self, cluster: str) -> dict[str, Any]:
        """The tree. Each reason is at the lowest part that is not ready."""
        done = self._run(cluster, "-f", "json")
        found: dict[str, Any] = json.loads(done.stdout)
        for each in _walk(found)[1:]:
            ill = [e for e in _walk(each)[1:] if e["state"] == "not ready"]
            if each["state"] == "not ready":
                self.assertNotEqual(bool(ill), bool(each["reason"]), str(each))
        well = all(each["state"] in ("", "ready") for each in _walk(found))
        self.assertEqual(int(not well), done.returncode, done.stdout)
        return found

    def _waiting(self, cluster: str) -> list[str]:
        """Kinds of the lowest parts that are not ready."""
        return [
            each["kind"]
            for each in _walk(self._json(cluster))
            if each["state"] not in ("", "ready") and each["reason"]
        ][1:]

    def _making(self, cluster: str) -> dict[str, Any] | None:
        """The tree, when a machine is being made."""
        found = self._json(cluster)
        made = [
            each
            for each in _walk(found)
            if each["kind"] == "Machine" and each["state"] == "not ready"
        ]
        return found if made else None

    def _tree(self, found: dict[str, Any]) -> str:
        """As a terminal shows it, without names of this run."""
        general = _branch(json.loads(_general(json.dumps(found))))
        out = io.StringIO()
        console.Console(file=out, width=_WIDTH, color_system=None).print(
            tree_output._tree(general)
        )
        lines = out.getvalue().splitlines()
        return "".join(f"{each.rstrip()}\n" for each in lines)


def _walk(found: dict[str, Any]) -> list[dict[str, Any]]:
    below = [each for child in found["children"] for each in _walk(child)]
    return [found, *below]


def _branch(found: dict[str, Any]) -> tree.Branch:
    return tree.Branch(
        found["kind"],
        found["name"],
        tree.State(found["state"]),
        found["note"],
        found["reason"],
        tuple(map(_branch, found["children"])),
    )


def _general(text: str) -> str:
    """With the same names in each run, in the order in which they come."""
    # How its health is found depends on when it is looked at.
    text = re.sub(r"(?<=CREATE_IN_PROGRESS), \w+", "", text)
    for pattern, shown in (
        (r"(?<=shop-)[0-9a-f]{12}", "2bd6e981f11f"),
        (r"(?<=control-plane-)[a-z0-9]{5}\b", "x7k2{}"),
        (r"(?<=default-worker-)[a-z0-9]{5}-[a-z0-9]{5}\b", "9xq4d-h5m8{}"),
        (r"https://[\d.]+:\d+", "https://203.0.113.10:6443"),
        (r"\b1(?:92|0)\.\d+\.\d+\.\d+\b", "192.168.3.1{}"),
        (
            r"(?<=server )[0-9a-f-]{36}",
            "2d1f0e7a-c2b9-4c36-8f10-4b7d9c5e3a6{}",
        ),
    ):
        known: dict[str, str] = {}
        for each in re.findall(pattern, text):
            known.setdefault(each, shown.format(len(known)))
        for each, name in known.items():
            text = re.sub(rf"(?<![\w.]){re.escape(each)}(?![\w.])", name, text)
    return text
