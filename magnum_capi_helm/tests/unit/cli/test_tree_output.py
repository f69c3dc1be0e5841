# SPDX-License-Identifier: Apache-2.0

"""A tree on a terminal."""

from __future__ import annotations

import io
from unittest import mock

from oslotest import base

from magnum_capi_helm.cli import tree_output
from magnum_capi_helm.status import tree

#: 2026-11-21, 18:48 UTC.
SINCE = 1795286880.0


class DrawTest(base.BaseTestCase):
    def drawn(self, since: float, seconds: float = 730.0) -> str:
        """A server with a fault, some seconds later."""
        reason = tree.Reason("no quota", tree.Rank.CLOUD, since, "quota")
        clock = mock.Mock(time=lambda: SINCE + seconds)
        stream = io.StringIO()
        with mock.patch.object(tree_output, "time", clock):
            tree_output.draw(tree.grow("OpenStackServer", "s", reason), stream)
        return stream.getvalue()

    def test_a_fault_has_its_time_and_its_age(self) -> None:
        for seconds, age in (
            (10.0, "0 minutes"),
            (730.0, "12 minutes"),
            (7200.0, "120 minutes"),
            (36000.0, "10 hours"),
        ):
            self.assertEqual(
                "OpenStackServer s: not ready: no quota (since 18:48 UTC) "
                f"[quota], {age} ago\n",
                self.drawn(SINCE, seconds),
            )

    def test_a_fault_of_an_unknown_time_has_no_age(self) -> None:
        self.assertEqual(
            "OpenStackServer s: not ready: no quota [quota]\n", self.drawn(0.0)
        )
