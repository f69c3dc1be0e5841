# SPDX-License-Identifier: Apache-2.0

"""A step is skipped only while its inputs are what they were."""

import pathlib
import tempfile
import unittest

from lab import stamps


class StampTest(unittest.TestCase):
    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.one = self.folder / "one"
        self.one.write_text("1")

    def test_fresh_only_after_it_was_written(self) -> None:
        value = stamps.fingerprint("go1.26", files=[self.one])
        self.assertFalse(stamps.fresh("step", value, self.folder / "new"))
        stamps.write("step", value, self.folder / "new")
        self.assertTrue(stamps.fresh("step", value, self.folder / "new"))

    def test_every_input_counts(self) -> None:
        two = self.folder / "two"
        two.write_text("1")
        before = stamps.fingerprint("a", files=[self.one])
        others = {
            stamps.fingerprint("b", files=[self.one]),
            stamps.fingerprint("a", files=[two]),
            stamps.fingerprint("a", files=[self.one, two]),
        }
        self.one.write_text("2")
        others.add(stamps.fingerprint("a", files=[self.one]))
        self.assertEqual(4, len(others - {before}))

    def test_the_order_of_files_does_not_count(self) -> None:
        two = self.folder / "two"
        two.write_text("2")
        self.assertEqual(
            stamps.fingerprint(files=[self.one, two]),
            stamps.fingerprint(files=[two, self.one]),
        )
