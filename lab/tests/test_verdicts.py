# SPDX-License-Identifier: Apache-2.0

"""What passed, what failed, and what is left over is judged rightly."""

from __future__ import annotations

from typing import Any
import unittest

from lab import fault_table
from lab.cloud import rows
from lab.commands import rows as rows_command
from lab.commands import test as test_command
from lab.conformance import results
from lab.demo import kube
from lab.drills import transitions
from magnum_capi_helm.kubernetes import permissions
from magnum_capi_helm.tests.functional.nodes import skew

#: API servers, kubelets of workers, and the skew.
_CLUSTERS = (
    (("v1.33.13", "v1.34.4"), ("v1.33.13",), (1, 1, 0)),
    (("v1.36.3", "v1.35.4"), ("v1.36.3", "v1.32.0"), (1, 4, 1)),
    (("v1.10.0",), ("v1.9.11",), (0, 1, -1)),
)
_STATUSES = {
    "+": ("CREATE_COMPLETE", "UPDATE_IN_PROGRESS"),
    "-": ("UPDATE_IN_PROGRESS", "UPDATE_COMPLETE"),
    "!": ("UPDATE_IN_PROGRESS", "UPDATE_FAILED"),
    "h": ("UPDATE_FAILED", "UPDATE_COMPLETE"),
}
#: Clusters that begin, end, fail or heal -> the most in progress at a time.
_AT_ONCE = {
    "": 0,
    "a+ b+ a- b- c+ c-": 2,
    "a+ a! b+ a+": 2,
    # A cluster that was in progress before, and one that heals.
    "a- b+ c+ b-": 2,
    "a+ b+ c+ a! ah d+": 3,
}
_STESTR = """\
quick: exit 1 (2.40 seconds) /src/x> doc8 README.rst pid=12241
quick: exit 0 (0.20 seconds) /src/x> ruff check . pid=12242
{0} a.B.test_fine [0.1s] ... ok

{1} a.B.test_bad [0.2s] ... FAILED

Captured stdout:
~~
    much

Captured traceback:
~~~~
    AssertionError: 1 != 2

Captured pythonlogging:
~~
    DEBUG much more

{1} a.B.test_worse [0.2s] ... FAILED

======
Totals
 - Passed: 12
 - Failed: 2
Totals
 - Passed: 3
 - Failed: 0
"""
_REPORT = """\
<testsuites><testsuite>
  <testcase name="[SynchronizedBeforeSuite]" status="passed" time="9"/>
  <testcase
    name="[It] [sig-node] Pods should be updated [LinuxOnly] [Conformance]"
    status="passed" time="4.2"/>
  <testcase
    name="[It] [sig-apps] Job should run [Conformance] [sig-apps, Conformance]"
    status="failed" time="300.04">
    <failure message="timed out
        waiting"/></testcase>
  <testcase
    name="[It] [sig-node] Pods should be old [LinuxOnly] [Conformance]"
    status="timedout" time="2"><error message="suite timed out"/></testcase>
</testsuite></testsuites>
"""
_PROJECT = "magnum-0123456789abcdef0123456789abcdef"


def _result(code: int, failed: int, *tests: str) -> test_command.Result:
    return test_command.Result(
        "functional", code, 7, failed, failures=tests, tests=tests
    )


class LabTestTest(unittest.TestCase):
    def test_output_of_stestr_and_tox_is_understood(self) -> None:
        self.assertEqual((15, 2), test_command.count(_STESTR))
        self.assertEqual((0, 0), test_command.count("ruff: all fine\n"))
        self.assertEqual(
            (
                "the command doc8 README.rst",
                "a.B.test_bad\n    AssertionError: 1 != 2",
                "a.B.test_worse",
            ),
            test_command.failures(_STESTR),
        )

    def test_a_few_failed_tests_are_run_again(self) -> None:
        good, bad = _result(0, 0), _result(1, 1, "a.B.test_bad")
        broken, two = _result(1, 0), _result(1, 2, "a", "b")
        for found, expected in (
            ([good], False),
            ([good, bad], True),
            ([bad, broken], False),
            ([_result(1, 2, "a test without a name beside it")], False),
            ([two, two], False),
        ):
            again = test_command.worth_another_try(found)
            self.assertIs(expected, again, found)

    def test_only_a_second_try_that_passes_heals(self) -> None:
        bad = _result(1, 1, "a.B.test_bad")
        for code, expected in (
            (0, (0, 8, 0, ("a.B.test_bad",))),
            (1, (1, 7, 1, ())),
        ):
            again = test_command.Result("again", code)
            end = test_command.second_try(bad, again)
            found = end.code, end.passed, end.failed, end.unsteady
            self.assertEqual(expected, found)


class ConformanceTest(unittest.TestCase):
    def test_a_test_of_conformance_fails_unless_it_passed(self) -> None:
        job = "[sig-apps] Job should run"
        old = "[sig-node] Pods should be old"
        updated = "[sig-node] Pods should be updated"
        found = [
            results.Row(job, False, "timed out waiting"),
            results.Row(old, False, "suite timed out"),
            results.Row(updated, True),
        ]
        self.assertEqual(found, results.read(_REPORT, [job, old, updated]))
        self.assertEqual(found[2:], results.read(_REPORT, [updated]))
        counts = results.summary(found)
        self.assertEqual((1, 2), test_command.count(counts))


class LeftOverTest(unittest.TestCase):
    def test_new_rows_are_named_and_excuses_have_a_reason(self) -> None:
        before = {"ports": {"p1": "old"}, "security groups": {}}
        now = {
            "ports": {"p1": "old", "p2": "new"},
            "security groups": {"g1": "default"},
        }
        *_, new, excused = rows_command.table(before, now)
        self.assertEqual("new in ports: new", new)
        self.assertIn("in security groups: default (Neutron makes", excused)

    def test_rows_of_a_cluster_have_it_in_name_tags_or_text(self) -> None:
        for row, expected in (
            ({"name": "web-1-control-plane"}, True),
            ({"name": "", "description": "cluster ns-web-1"}, True),
            ({"name": None, "tags": ["a", "kube_service_web-1_x_y"]}, True),
            ({"name": "web-2", "metadata": {"cluster": "web-1"}}, False),
        ):
            self.assertIs(expected, rows.mentions(row, "web-1"), row)

    def test_objects_of_a_project_alone_may_stay(self) -> None:
        def item(kind: str, namespace: str, name: str) -> dict[str, Any]:
            place = {"namespace": namespace, "name": name}
            return {"kind": kind, "metadata": place}

        stay = [
            item("ConfigMap", _PROJECT, "kube-root-ca.crt"),
            item("ServiceAccount", _PROJECT, "default"),
            *permissions.of_project(_PROJECT),
        ]
        left = [
            item("RoleBinding", _PROJECT, "demo-autoscaler"),
            item("Role", _PROJECT, "magnum-capi-helm"),
            item("RoleBinding", "kube-system", "magnum-capi-helm"),
            {"kind": "Namespace", "metadata": {"name": "kube-system"}},
        ]
        self.assertEqual(left, list(kube.of_clusters([*stay, *left])))


class NumbersTest(unittest.TestCase):
    def test_minor_versions_are_compared_as_numbers(self) -> None:
        for servers, kubelets, wanted in _CLUSTERS:
            self.assertEqual(wanted, skew.measure(servers, kubelets))
        moments = (skew.Skew(1, 2, -2), skew.Skew(0, 3, -3))
        self.assertEqual((1, 3, -2), skew.widest(moments))

    def test_the_most_clusters_in_progress_are_counted(self) -> None:
        for text, expected in _AT_ONCE.items():
            found = [
                transitions.Transition(uuid, *_STATUSES[sign], at)
                for at, (uuid, sign) in enumerate(text.split())
            ]
            self.assertEqual(expected, transitions.most_at_once(found), text)

    def test_a_published_table_keeps_rows_that_did_not_run(self) -> None:
        page = fault_table.PAGE.read_text()
        self.assertEqual(page, fault_table.table(fault_table.read(page)))
        self.assertIn("Nova's quota of cores", page)
