# SPDX-License-Identifier: Apache-2.0
"""Labels that have no effect where they were given."""

from __future__ import annotations

import dataclasses

from oslotest import base

from magnum_capi_helm.model import labels
from magnum_capi_helm.tests.unit.model import test_labels


class WithoutEffectTest(base.BaseTestCase):
    def test_a_label_that_nobody_knows(self) -> None:
        found = labels.find_unknown(
            (test_labels.SIZE,),
            ("theirs",),
            ("sise", "theirs", "a\nb", "y" * 200),
        )
        self.assertEqual(
            {
                "a\nb": "label 'a\\nb' is not known",
                "sise": "label 'sise' is not known (did you mean size?)",
                "y" * 200: f"label '{'y' * 95}...' is not known",
            },
            found,
        )

    def test_a_label_of_another_driver_that_the_cluster_misses(self) -> None:
        ignored = {
            "flavor": labels.Ignored("why", functional=True),
            "ui": labels.Ignored("why", functional=True, same=(False,)),
            "passwd": labels.Ignored("why", functional=True, secret=True),
            "agent": labels.Ignored("why", functional=False),
        }
        given = {
            "flavor": "h\na",
            "ui": "False",
            "passwd": "s3cret",
            "agent": "v1",
            "size": "1",
        }
        self.assertEqual(
            {
                "flavor": "label flavor has no effect: why. It is 'h\\na'",
                "passwd": "label passwd has no effect: why. It is ***",
            },
            labels.find_missed(ignored, given),
        )

    def test_a_label_where_nobody_reads_it(self) -> None:
        group = labels.Label(
            "own", str, "", "", "", scope=labels.Scope.NODEGROUP
        )
        declared = (test_labels.SIZE, test_labels.VERSION, group)
        given = ("version", "old_size", "own", "other")
        template = "label version is read from the template alone"
        cluster = (
            "label old_size is read from the template and the cluster alone"
        )
        self.assertEqual(
            [(), (template,), (cluster, template)],
            [
                labels.find_misplaced(declared, given, place)
                for place in labels.Scope
            ],
        )

    def test_a_label_that_is_there_for_old_templates(self) -> None:
        old = dataclasses.replace(
            test_labels.SIZE, deprecated="give the size of the flavor"
        )
        self.assertEqual(
            (
                "label old_size is deprecated: give the size of the flavor",
                "label size is deprecated: give the size of the flavor",
            ),
            labels.find_deprecated((old,), ("size", "old_size", "other")),
        )
        self.assertEqual(
            (), labels.find_deprecated((test_labels.SIZE,), ("size",))
        )
