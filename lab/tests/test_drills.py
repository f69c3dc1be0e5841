# SPDX-License-Identifier: Apache-2.0
"""Records of drills, as the page has them."""

from __future__ import annotations

from oslotest import base

from lab.drills import publish

_RECORD = """\
00:02  $ magnum-capi-helm export --all --directory /tmp/tmpvf/tmpq4/night
00:31    audit: cluster 5f57e373: accepted: rollout, user root
00:31    release web-1 in magnum-1: helm 29.968 s
00:31    exported
00:40  $ helm -n magnum-7385b4180470442badc0d8c7afe72a93 history web-1
"""
_SHOWN = """\
00:02  $ magnum-capi-helm export --all --directory /night
00:31    exported
00:40  $ helm -n magnum-PROJECT history web-1
"""


class PublishTest(base.BaseTestCase):
    def test_what_is_of_one_run_alone_is_left_out(self) -> None:
        self.assertEqual(_SHOWN, publish.shown(_RECORD))

    def test_long_lines_are_broken_and_cut(self) -> None:
        self.assertEqual(
            f"00:01  {'word ' * 13}word\n           word\n",
            publish.shown(f"00:01  {'word ' * 15}"),
        )
        shown = publish.shown("x" * 400)
        self.assertEqual(300, shown.count("x"))
