# SPDX-License-Identifier: Apache-2.0

"""Text of users that would be code on the management cluster."""

from __future__ import annotations

from typing import Any

from oslotest import base

from magnum_capi_helm.chart import values
from magnum_capi_helm.model import errors


class RefuseTest(base.BaseTestCase):
    def test_what_is_text_passes(self) -> None:
        for given in (
            None,
            {"a": "b", "c": [1, True, None, "{d}"], "e": {"f": "} }"}},
        ):
            values.refuse_templates(given, "addons")

    def test_what_opens_a_template_is_refused_with_its_path(self) -> None:
        rows: tuple[tuple[Any, str], ...] = (
            ({"a": "{{ x }}"}, "addons.a='{{ x }}'"),
            ({"a": {"b": ["{% x %}"]}}, "addons.a.b='{% x %}'"),
            ({"{# x #}": 1}, "addons='{# x #}'"),
        )
        for given, where in rows:
            error = self.assertRaises(
                errors.InvalidInput,
                values.refuse_templates,
                given,
                "addons",
            )
            self.assertEqual(
                "give text without {{, {% and {# in values of addons. It is "
                f"{where}",
                str(error),
            )
