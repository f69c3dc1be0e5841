# SPDX-License-Identifier: Apache-2.0

"""Labels and taints of nodes, as users write them."""

from __future__ import annotations

from oslotest import base

from magnum_capi_helm.model import cluster_spec
from magnum_capi_helm.model import label_types

LONG = "x" * 63


class NodeLabelsTest(base.BaseTestCase):
    parse = staticmethod(label_types.NodeLabels())

    def test_commas_separate_pairs(self) -> None:
        self.assertEqual(
            (("disk", "ssd"), ("example.org/team", "a.b_c"), ("empty", "")),
            self.parse("disk=ssd, example.org/team=a.b_c,empty=,"),
        )
        self.assertEqual((), self.parse(""))

    def test_keys_that_a_kubelet_may_set_are_accepted(self) -> None:
        for key in (
            "node.kubernetes.io/pool",
            "x.node.kubernetes.io/pool",
            "kubelet.kubernetes.io/pool",
            "topology.kubernetes.io/zone",
            "notkubernetes.io/pool",
            "k8s.io.example.org/pool",
            f"{'a' * 60}.{'b' * 60}/{LONG}",
        ):
            self.assertEqual(((key, "x"),), self.parse(f"{key}=x"))

    def test_an_invalid_label_is_refused_with_the_reason(self) -> None:
        for text, words in (
            ("disk", "has no ="),
            ("=ssd", "is no key"),
            (f"{LONG}x=a", "is no key"),
            ("-disk=ssd", "is no key"),
            ("Example.org/disk=a", "no DNS name"),
            (f"{'a.' * 126}aa/disk=a", "no DNS name"),
            ("a/b/c=d", "no DNS name"),
            ("/disk=ssd", "no DNS name"),
            (f"disk={LONG}x", "is no value"),
            ("disk=a=b", "is no value"),
            ("disk=-", "is no value"),
            ("node-role.kubernetes.io/gpu=yes", "Kubernetes' own"),
            ("kubernetes.io/role=x", "Kubernetes' own"),
            ("cluster.k8s.io/role=x", "Kubernetes' own"),
            ("magnum.openstack.org/role=x", "the driver itself sets"),
            ("capi.stackhpc.com/node-group=x", "the driver itself sets"),
            ("a=b,a=c", "given twice"),
        ):
            with self.assertRaisesRegex(ValueError, words):
                self.parse(text)

    def test_an_option_shows_what_is_read_again(self) -> None:
        kind = label_types.NodeLabels()
        [shown] = kind.format_defaults((("a", "b"), ("c", "")))
        self.assertEqual("a=b,c=", shown)
        self.assertEqual((("a", "b"), ("c", "")), kind(shown))


class NodeTaintsTest(base.BaseTestCase):
    parse = staticmethod(label_types.NodeTaints())

    def test_with_and_without_a_value(self) -> None:
        self.assertEqual(
            (
                cluster_spec.Taint("gpu", "NoSchedule", "yes"),
                cluster_spec.Taint("example.org/slow", "NoExecute"),
                cluster_spec.Taint("gpu", "PreferNoSchedule"),
            ),
            self.parse(
                "gpu=yes:NoSchedule, example.org/slow:NoExecute,"
                "gpu:PreferNoSchedule"
            ),
        )
        self.assertEqual((), self.parse(""))

    def test_an_invalid_taint_is_refused_with_the_reason(self) -> None:
        for text, words in (
            ("gpu=yes", "no :effect"),
            ("gpu=yes:Never", "'Never' is no effect"),
            ("gpu:", "'' is no effect"),
            (":NoSchedule", "is no key"),
            ("gpu=a b:NoSchedule", "is no value"),
            ("gpu:NoSchedule,gpu=x:NoSchedule", "given twice"),
        ):
            with self.assertRaisesRegex(ValueError, words):
                self.parse(text)

    def test_an_option_shows_what_is_read_again(self) -> None:
        kind = label_types.NodeTaints()
        taints = kind("a=b:NoSchedule,c:NoExecute")
        [shown] = kind.format_defaults(taints)
        self.assertEqual("a=b:NoSchedule,c:NoExecute", shown)
        self.assertEqual(taints, kind(shown))


class LabelValueTest(base.BaseTestCase):
    def test_any_text_becomes_a_value_of_a_label(self) -> None:
        for text, expected in (
            ("worker", "worker"),
            ("a b/c", "a-b-c"),
            ("_x.", "x"),
            ("\u00e4", ""),
            ("n" * 80, "n" * 63),
            (f"{'n' * 62}..{'n' * 9}", "n" * 62),
        ):
            self.assertEqual(expected, label_types.as_node_label_value(text))
