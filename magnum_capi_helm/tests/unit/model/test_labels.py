# SPDX-License-Identifier: Apache-2.0
"""Labels: parsed by their declaration, the strongest source first."""

from __future__ import annotations

from collections.abc import Mapping

from oslo_config import types
from oslotest import base

from magnum_capi_helm.model import errors
from magnum_capi_helm.model import label_types
from magnum_capi_helm.model import labels

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
        self.assertEqual(
            [1, 2, 7, 5],
            [
                resolve({"size": "1"}, {"size": "2"}, option)[SIZE],
                resolve({}, {"size": "2"}, option)[SIZE],
                resolve({}, {}, option)[SIZE],
                resolve({}, {})[SIZE],
            ],
        )

    def test_a_label_beats_its_aliases_in_the_same_source(self) -> None:
        given = {"older_size": "3", "old_size": "2", "size": "1"}
        self.assertEqual(1, resolve(given, {})[SIZE])
        del given["size"]
        self.assertEqual(2, resolve(given, {})[SIZE])

    def test_an_alias_of_the_cluster_beats_the_template(self) -> None:
        self.assertEqual(1, resolve({"old_size": "1"}, {"size": "2"})[SIZE])

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

    def test_a_weaker_source_is_not_even_parsed(self) -> None:
        self.assertEqual(1, resolve({"size": "1"}, {"size": "big"})[SIZE])


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
        hosts = labels.Label(
            name="hosts",
            type=label_types.HOSTS,
            default=(),
            allowed="hosts",
            help="Hosts.",
        )
        switch = labels.Label(
            name="switch",
            type=types.Boolean(),
            default=False,
            allowed="true or false",
            help="A switch.",
        )
        found = labels.Values({"hosts": ("a", "b"), "switch": True})
        self.assertEqual(
            [
                "label hosts: give c. It is 'a,b'",
                "label switch: give c. It is 'true'",
                "label size: give c. It is '5'",
            ],
            [str(found.refused(each, "c")) for each in (hosts, switch, SIZE)],
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
