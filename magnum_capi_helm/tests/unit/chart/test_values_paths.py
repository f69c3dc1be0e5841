# SPDX-License-Identifier: Apache-2.0

"""No value is sent that a chart would silently ignore."""

from __future__ import annotations

from collections.abc import Iterator

from oslotest import base

from magnum_capi_helm.chart import values
from magnum_capi_helm.model import errors
from magnum_capi_helm.model import paths
from magnum_capi_helm.tests import value_paths
from magnum_capi_helm.tests.unit.chart import renamed
from magnum_capi_helm.tests.unit.features import outcome
from magnum_capi_helm.tests.unit.features import rows

#: Versions between which values came or went, and the newest.
VERSIONS = tuple(
    each
    for number, each in enumerate(value_paths.chart_versions())
    if not number or value_paths.changed(each)
)

#: What 0.10.1 does not read, for the day when another chart follows.
_LATER = {"0.10.1": {"apiServer.allowedCIDRs"}}


def _unknown(version: str) -> Iterator[tuple[str, list[str]]]:
    """Yield each label that a version applies, and what it does not read."""
    for name, (value, needs) in {
        "": ("", {}),
        **rows.CHANGES,
    }.items():
        given = {**needs, name: value} if name else {}
        given["capi_helm_chart_version"] = version
        try:
            wanted = outcome.resolved(given)
        except errors.InvalidInput:
            continue
        told = paths.spelled(values.build(wanted), version)
        yield name, value_paths.unknown(told, version)


class ValuePathsTest(base.BaseTestCase):
    def test_every_label_is_applied_by_every_chart_or_refused(self) -> None:
        ignored = [
            (version, outcome.FILES.get(name, ""), name, left)
            for version in VERSIONS
            for name, unknown in _unknown(version)
            if (left := sorted(set(unknown) - _LATER.get(version, set())))
        ]
        self.assertEqual([], ignored)

    def test_data_of_a_new_chart_name_the_values_that_it_renames(self) -> None:
        renamed.add_data(self)
        self.assertEqual(
            {
                "addons.reloader.enabled",
                "apiServer.loadBalancerProvider",
                "nodeGroups.machineCount",
            },
            {
                path
                for _, unknown in _unknown(renamed.VERSION)
                for path in unknown
            },
        )

    def test_rows_of_one_source_file_move_the_values(self) -> None:
        renamed.add_data(self)
        renamed.add_source(self)
        self.assertEqual([], [e for _, e in _unknown(renamed.VERSION) if e])
        self.assertEqual([], [e for _, e in _unknown(renamed.LAST) if e])

    def test_a_value_that_no_chart_knows_is_found(self) -> None:
        self.assertEqual(
            ["addons.nonesuch.enabled", "nodeGroups.nonesuch"],
            value_paths.unknown(
                {
                    "addons": {"nonesuch": {"enabled": True}},
                    "nodeGroups": [{"name": "a", "nonesuch": 1}],
                    "machineMetadata": {"any": "key"},
                },
                "0.27.0",
            ),
        )
