# SPDX-License-Identifier: Apache-2.0

"""What every type of a label or option has to do."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from oslotest import base


class TypeTestCase(base.BaseTestCase):
    """The tests of a table of types; without a table there are none."""

    #: (type, text, what it means)
    accepted: Sequence[tuple[Any, str, Any]] = ()
    #: (type, text)
    refused: Sequence[tuple[Any, str]] = ()

    def test_accepted(self) -> None:
        self.assertEqual(
            [(kind, text, parsed) for kind, text, parsed in self.accepted],
            [(kind, text, kind(text)) for kind, text, _ in self.accepted],
        )

    def test_refused(self) -> None:
        taken = []
        for kind, text in self.refused:
            try:
                taken.append((kind, text, kind(text)))
            except ValueError:
                continue
        self.assertEqual([], taken)

    def test_a_formatted_value_is_parsed_as_the_same(self) -> None:
        for kind, _, parsed in self.accepted:
            written = kind.format_defaults(parsed)[0]
            self.assertEqual(parsed, kind(written.strip('"')))
