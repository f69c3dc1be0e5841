# SPDX-License-Identifier: Apache-2.0

"""No value is sent that a chart would silently ignore."""

from __future__ import annotations

from oslotest import base

from magnum_capi_helm.chart import values
from magnum_capi_helm.model import errors
from magnum_capi_helm.model import paths
from magnum_capi_helm.tests import value_paths
from magnum_capi_helm.tests.unit.features import outcome
from magnum_capi_helm.tests.unit.features import rows

#: Versions between which values came or went, and the newest.
VERSIONS = (
    "0.27.0",
    "0.26.1",
    "0.26.0",
    "0.25.1",
    "0.23.0",
    "0.22.0",
    "0.19.2",
    "0.16.1",
    "0.15.0",
    "0.14.1",
    "0.12.1",
    "0.12.0",
    "0.10.1",
)

#: What 0.10.1 does not read, for the day when another chart follows.
_LATER = {"0.10.1": {"apiServer.allowedCIDRs"}}


class ValuePathsTest(base.BaseTestCase):
    def test_every_version_where_something_changed_is_tried(self) -> None:
        self.assertLessEqual(
            {
                version
                for version in value_paths.chart_versions()
                if value_paths.changed(version)
            },
            set(VERSIONS),
        )

    def test_every_label_is_applied_by_every_chart_or_refused(self) -> None:
        changes = rows.merged("CHANGES")
        ignored = []
        for version in VERSIONS:
            for name, (value, needs) in {"": ("", {}), **changes}.items():
                given = {**needs, name: value} if name else {}
                given["capi_helm_chart_version"] = version
                try:
                    wanted = outcome.resolved(given)
                except errors.InvalidInput:
                    continue
                told = paths.spelled(values.build(wanted), version)
                unknown = value_paths.unknown(told, version)
                if left := set(unknown) - _LATER.get(version, set()):
                    ignored.append((version, name, sorted(left)))
        self.assertEqual([], ignored)

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
