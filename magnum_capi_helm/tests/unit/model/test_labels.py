# SPDX-License-Identifier: Apache-2.0
"""Labels: parsed by their declaration, the strongest source first."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import hypothesis
from hypothesis import strategies
from oslo_config import types
from oslotest import base

from magnum_capi_helm import features
from magnum_capi_helm.features import ignored
from magnum_capi_helm.model import errors
from magnum_capi_helm.model import label_types
from magnum_capi_helm.model import labels
from magnum_capi_helm.resolve import requested_labels

SIZE = labels.Label(
    name="size",
    type=types.Integer(min=1),
    default=5,
    allowed="a size in GB",
    help="A size.",
    aliases=("old_size", "older_size"),
)
VERSION = labels.Label(
    name="version",
    type=types.String(),
    default="",
    allowed="any text",
    help="A version.",
    scope=labels.Scope.TEMPLATE,
)


def resolve(
    cluster: Mapping[str, str],
    template: Mapping[str, str],
    options: Mapping[str, object] | None = None,
) -> labels.Values:
    return labels.resolve(
        (SIZE, VERSION),
        labels.Sources(template=template, cluster=cluster),
        options or {},
    )


class PrecedenceTest(base.BaseTestCase):
    def test_cluster_beats_template_beats_option_beats_default(self) -> None:
        option = {"size": 7}
        for cluster, template, options, size in (
            ({"size": "1"}, {"size": "2"}, option, 1),
            ({}, {"size": "2"}, option, 2),
            ({}, {}, option, 7),
            ({}, {}, {}, 5),
            # A label beats its aliases in the same source.
            ({"older_size": "3", "old_size": "2", "size": "1"}, {}, {}, 1),
            ({"older_size": "3", "old_size": "2"}, {}, {}, 2),
            ({"old_size": "1"}, {"size": "2"}, {}, 1),
            # A weaker source is not even parsed.
            ({"size": "1"}, {"size": "big"}, {}, 1),
        ):
            self.assertEqual(size, resolve(cluster, template, options)[SIZE])

    def test_a_template_label_of_a_cluster_is_not_read(self) -> None:
        self.assertEqual("", resolve({"version": "9"}, {})[VERSION])
        self.assertEqual(
            "8", resolve({"version": "9"}, {"version": "8"})[VERSION]
        )


class ParseTest(base.BaseTestCase):
    def test_a_value_has_the_type_of_its_label(self) -> None:
        self.assertEqual(12, SIZE.parse(" 12 "))

    def test_an_error_has_label_value_and_what_is_allowed(self) -> None:
        error = self.assertRaises(errors.LabelError, SIZE.parse, "0")
        self.assertEqual(
            ("size", "0", "a size in GB"),
            (error.name, error.value, error.allowed),
        )

    def test_an_error_says_what_is_wrong_where_the_type_knows_it(self) -> None:
        def odd(text: str) -> int:
            if int(text) % 2:
                return int(text)
            raise labels.Reason(f"{text} is even")

        label = labels.Label("count", odd, 1, "an odd number", "A count.")
        self.assertEqual(
            "label count: give an odd number. It is '4'; 4 is even",
            str(self.assertRaises(errors.LabelError, label.parse, "4")),
        )
        self.assertEqual(
            "label count: give an odd number. It is 'x'",
            str(self.assertRaises(errors.LabelError, label.parse, "x")),
        )

    def test_an_error_cuts_a_long_value_and_stays_one_line(self) -> None:
        for text, shown in (
            ("x" * 98, f"'{'x' * 98}'"),
            ("x" * 99, f"'{'x' * 95}...'"),
            ("x" * 60000, f"'{'x' * 95}...'"),
            ("a\nb\u2028c", r"'a\nb\u2028c'"),
        ):
            error = self.assertRaises(errors.LabelError, SIZE.parse, text)
            self.assertEqual(
                f"label size: give a size in GB. It is {shown}",
                str(error),
            )
            self.assertEqual(text, error.value)

    def test_an_error_names_the_alias_that_the_user_wrote(self) -> None:
        error = self.assertRaises(
            errors.LabelError, resolve, {"old_size": "big"}, {}
        )
        self.assertEqual("old_size", error.name)
        self.assertIn("label old_size: give", str(error))
        self.assertIn("'big'", str(error))


class ValuesTest(base.BaseTestCase):
    def test_a_settled_value_was_given_by_nobody(self) -> None:
        values = resolve({"size": "1"}, {})
        self.assertEqual(values, values.without_settings())
        self.assertEqual(("size", "1"), values.given(SIZE))
        self.assertIsNone(values.without_settings().given(SIZE))

    def test_a_lasting_value_is_given_and_may_be_replaced(self) -> None:
        values = resolve({"size": "1"}, {}).with_fixed(("size",))
        self.assertEqual(("size", "1"), values.given(SIZE))
        group = values.overridden_by(labels.Values({}))
        other = values.overridden_by(resolve({"size": "2"}, {}))
        kept = labels.Values({"version": "1"}).overriding(values)
        self.assertEqual(
            [True, True, False, True],
            [each.is_fixed(SIZE) for each in (values, group, other, kept)],
        )

    def test_a_value_of_an_option_is_refused_as_a_user_would_write_it(
        self,
    ) -> None:
        found = labels.Values({"hosts": ("a", "b"), "switch": True})
        for name, kind, text in (
            ("hosts", label_types.HOSTS, "a,b"),
            ("switch", types.Boolean(), "true"),
            ("size", types.Integer(), "5"),
        ):
            label: labels.Label[Any]
            label = labels.Label(name, kind, 5, "something", "Help.")
            self.assertEqual(
                f"label {name}: give c. It is {text!r}",
                str(found.refused(label, "c")),
            )

    def test_equal_values_are_equal_and_hash_alike(self) -> None:
        one, two = resolve({"size": "1"}, {}), resolve({"old_size": "1"}, {})
        self.assertEqual(one, two)
        self.assertEqual(hash(one), hash(two))
        self.assertNotEqual(one, resolve({"size": "2"}, {}))
        self.assertNotEqual(one, {"size": 1})

    def test_they_do_not_change_with_what_they_were_made_from(self) -> None:
        source = {"size": 1}
        values = labels.Values(source)
        source["size"] = 2
        self.assertEqual(1, values[SIZE])


_TEXT = strategies.text(max_size=300)
_settings = hypothesis.settings(
    max_examples=60, deadline=None, derandomize=True, database=None
)


class PropertiesTest(base.BaseTestCase):
    @_settings
    @hypothesis.given(text=_TEXT)
    def test_any_text_is_a_value_or_a_label_error(self, text: str) -> None:
        for label in features.LABELS:
            try:
                label.parse(text)
            except errors.LabelError as error:
                self.assertEqual(label.name, error.name)
                self.assertNotIn("\n", str(error))

    @_settings
    @hypothesis.given(given=strategies.dictionaries(_TEXT, _TEXT))
    def test_labels_that_nobody_knows_change_nothing(
        self, given: dict[str, str]
    ) -> None:
        declared = {n for each in features.LABELS for n in _names(each)}
        others = declared | ignored.LABELS.keys()
        strange = {k: v for k, v in given.items() if k not in others}
        self.assertEqual(
            labels.resolve(features.LABELS, labels.Sources(), {}),
            labels.resolve(
                features.LABELS, labels.Sources(cluster=strange), {}
            ),
        )
        self.assertEqual(
            sorted(strange),
            list(requested_labels.without_effect(strange)),
        )


def _names(label: labels.Label[Any]) -> tuple[str, ...]:
    return (label.name, *label.aliases)
