# SPDX-License-Identifier: Apache-2.0
"""Every label that is declared changes what helm is given."""

from __future__ import annotations

from typing import Any

from oslotest import base

from magnum_capi_helm import features
from magnum_capi_helm.chart import values
from magnum_capi_helm.model import errors
from magnum_capi_helm.model import labels
from magnum_capi_helm.tests.unit.features import outcome
from magnum_capi_helm.tests.unit.features import rows

CHANGES = rows.CHANGES
REFUSED = rows.REFUSED
DECLARED = {label.name: label for label in features.LABELS}


def _outcome(given: dict[str, str]) -> tuple[Any, Any]:
    wanted = outcome.resolved(given)
    return wanted.chart, values.build(wanted)


class EveryLabelTest(base.BaseTestCase):
    def refused(self, name: str, value: str) -> errors.LabelError:
        try:
            _outcome({name: value})
        except errors.LabelError as error:
            return error
        raise AssertionError(f"{outcome.FILES[name]}: {name} takes {value!r}")

    def test_names_and_aliases_are_unique(self) -> None:
        names = [
            name
            for label in features.LABELS
            for name in (label.name, *label.aliases)
        ]
        self.assertEqual(sorted(set(names)), sorted(names))

    def test_changing_the_label_changes_the_values(self) -> None:
        faults = []
        for name, (changed, needs) in CHANGES.items():
            if name == "capi_helm_nodegroup_profiles":
                # The operator's files, not the label, have values.
                continue
            _, before = _outcome(needs)
            _, after = _outcome({**needs, name: changed})
            if bool(DECLARED[name].becomes) != (before != after):
                fault = "becomes" if before != after else "leaves"
                faults.append(f"{outcome.FILES[name]}: {fault} of {name}")
        self.assertEqual([], faults)

    def test_each_alias_does_what_its_label_does(self) -> None:
        for name, (changed, needs) in CHANGES.items():
            for alias in DECLARED[name].aliases:
                self.assertEqual(
                    _outcome({**needs, name: changed}),
                    _outcome({**needs, alias: changed}),
                    alias,
                )

    def test_a_value_that_is_not_allowed_names_what_is(self) -> None:
        for name, refused in REFUSED.items():
            error = self.refused(name, refused)
            [rule, _, rest] = str(error).partition(".")
            self.assertEqual(
                f"label {name}: give {DECLARED[name].allowed}", rule
            )
            self.assertTrue(rest.startswith(f" It is {refused!r}"), rest)
            # What is wrong with it may come in between.
            self.assertTrue(rest.endswith(DECLARED[name].details), rest)

    def test_no_rule_has_a_full_stop(self) -> None:
        """Magnum's API would cut a refusal there."""
        cut = {
            each.name: each.allowed
            for each in features.LABELS
            if "." in each.allowed
        }
        self.assertEqual({}, cut)

    def test_each_default_is_a_value_of_the_labels_type(self) -> None:
        for label in features.LABELS:
            if label.default is not None:
                self.assertEqual(
                    label.default, label.type(label.default), label.name
                )

    def test_operators_labels_are_read_from_templates_alone(self) -> None:
        self.assertEqual(
            [
                "capi_helm_chart_version",
                "capi_helm_values_profiles",
                "capi_management_cluster",
                "upgrade_images",
            ],
            [
                label.name
                for label in features.LABELS
                if label.scope is labels.Scope.TEMPLATE
            ],
        )
