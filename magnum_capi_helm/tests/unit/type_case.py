# Licensed under the Apache License, Version 2.0 (the "License"); you may
# not use this file except in compliance with the License. You may obtain
# a copy of the License at
#
#      http://www.apache.org/licenses/LICENSE-2.0
#
# Unless required by applicable law or agreed to in writing, software
# distributed under the License is distributed on an "AS IS" BASIS, WITHOUT
# WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the
# License for the specific language governing permissions and limitations
# under the License.

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

    def test_what_is_written_is_read_again_as_the_same(self) -> None:
        for kind, _, parsed in self.accepted:
            written = kind.format_defaults(parsed)[0]
            self.assertEqual(parsed, kind(written.strip('"')))
