# SPDX-License-Identifier: Apache-2.0

from __future__ import annotations

from oslotest import base

from magnum_capi_helm.model import window

#: Begin, end -> times inside and outside.
_WINDOWS: dict[tuple[str, str], tuple[str, str]] = {
    ("22:00", "04:00"): (
        "22:00 23:59 00:00 03:59",
        "21:59 04:00 12:00",
    ),
    ("09:30", "17:00"): ("09:30 12:00 16:59", "09:29 17:00 23:00 00:00"),
    ("00:00", "00:01"): ("00:00", "00:01 23:59"),
}


class WindowTest(base.BaseTestCase):
    def test_each_window_has_its_begin_and_not_its_end(self) -> None:
        for (begin, end), (inside, outside) in _WINDOWS.items():
            found = window.Window(window.minute(begin), window.minute(end))
            for text in f"{inside} {outside}".split():
                self.assertEqual(
                    text in inside.split(),
                    window.minute(text) in found,
                    f"{text} in {found}",
                )

    def test_windows_are_written_as_they_were_given(self) -> None:
        self.assertEqual(
            "22:00 to 04:05 UTC", str(window.Window(22 * 60, 4 * 60 + 5))
        )

    def test_text_that_is_no_time_of_the_day_is_refused(self) -> None:
        for text in (
            "",
            "22",
            "24:00",
            "7:00",
            "12:60",
            "22:00+02:00",
            "²²:00",
        ):
            error = self.assertRaises(ValueError, window.minute, text)
            self.assertEqual(
                f"{text!r} is not a time of the day: give one such as 22:00",
                str(error),
            )
