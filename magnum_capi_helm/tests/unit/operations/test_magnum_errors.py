# SPDX-License-Identifier: Apache-2.0
"""The driver's exceptions, and what Magnum makes of them."""

from __future__ import annotations

import inspect
import logging
from typing import Any

import fixtures
from magnum.common import exception
from oslotest import base

from magnum_capi_helm.model import errors
from magnum_capi_helm.operations import magnum_errors

#: Each exception: what Magnum raises, its HTTP status, worth another try.
CLASSES: dict[str, tuple[type[Exception], int, bool]] = {
    "CapiHelmError": (exception.MagnumException, 500, False),
    "InvalidInput": (exception.InvalidParameterValue, 400, False),
    "LabelError": (exception.InvalidParameterValue, 400, False),
    "NotSupported": (exception.NotSupported, 400, False),
    "Frozen": (exception.NotSupported, 400, True),
    "WouldReplace": (exception.NotSupported, 400, True),
    "NotConfigured": (exception.MagnumException, 500, False),
    "CloudError": (exception.MagnumException, 500, False),
    "CloudUnreachable": (exception.MagnumException, 500, True),
    "ManagementError": (exception.MagnumException, 500, False),
    "ManagementUnreachable": (exception.MagnumException, 500, True),
    "ManagementUnserved": (exception.MagnumException, 500, True),
    "Conflict": (exception.MagnumException, 500, True),
    "HelmError": (exception.MagnumException, 500, False),
    "HelmBusy": (exception.MagnumException, 500, True),
    "NoTurn": (exception.MagnumException, 500, True),
    "HelmUnreachable": (exception.MagnumException, 500, True),
    "ManifestUnreadable": (exception.MagnumException, 500, False),
    "Unconvertible": (exception.MagnumException, 500, False),
    "ChartStranded": (exception.MagnumException, 500, False),
    "ReleaseStranded": (exception.MagnumException, 500, False),
    "ReleaseAbsent": (exception.MagnumException, 500, False),
    "ChartUnavailable": (exception.MagnumException, 500, False),
    "ChartUnstorable": (exception.MagnumException, 500, False),
    "LeaseHeld": (exception.OperationInProgress, 400, True),
    "LeaseMissing": (exception.MagnumException, 500, False),
    "LeaseLost": (exception.OperationInProgress, 400, True),
}


def instance(kind: type[errors.CapiHelmError]) -> errors.CapiHelmError:
    if issubclass(kind, errors.LabelError):
        return kind("size", "big", "a number")
    if issubclass(kind, errors.Frozen):
        return kind("the management cluster", "what is wrong")
    if issubclass(kind, errors.NoTurn):
        return kind(3)
    return kind("what is wrong")


class MappingTest(base.BaseTestCase):
    def test_each_exception_is_one_of_magnums(self) -> None:
        declared = {
            name: kind
            for name, kind in inspect.getmembers(errors, inspect.isclass)
            if issubclass(kind, errors.CapiHelmError)
        }
        found: dict[str, Any] = {}
        for name, kind in declared.items():
            theirs: Any = magnum_errors.as_magnum(instance(kind))
            found[name] = (type(theirs), theirs.code, kind.retriable)
        self.assertEqual(CLASSES, found)

    def test_the_text_stays_as_it_is(self) -> None:
        texts = [
            "plain",
            "100% of the quota",
            "%(cluster)s",
            "%s",
            "50%% off",
            "label size='a%b' is not allowed",
        ]
        self.assertEqual(
            texts,
            [
                str(magnum_errors.as_magnum(errors.InvalidInput(t)))
                for t in texts
            ],
        )

    def test_a_label_error_says_which_label_and_what_is_allowed(self) -> None:
        self.assertEqual(
            "label size: give a number. It is 'big'",
            str(errors.LabelError("size", "big", "a number")),
        )
        self.assertEqual(
            "label size: give a number. It is 'big'; an example is 1.5",
            str(
                errors.LabelError(
                    "size", "big", "a number", "an example is 1.5"
                )
            ),
        )


#: What is refused -> the answer of the API, whose first sentence is all that
#: ``openstack coe`` shows.
_FIRST = "the upgrade is refused, `openstack --debug` shows why. "
ANSWERS = {
    "no": "no",
    "It's wrong. Give another.": "It's wrong. Give another.",
    "size=9 is too big: give 1 to 3. It is 2.5 now": (
        "size=9 is too big: give 1 to 3. It is 2.5 now"
    ),
    'webhook "a.b.io" denied: spec.network: Forbidden': (
        f'{_FIRST}webhook "a.b.io" denied: spec.network: Forbidden'
    ),
    "https://10.0.0.1:6443/api: no answer. Try again": (
        f"{_FIRST}https://10.0.0.1:6443/api: no answer. Try again"
    ),
}


class AnswerTest(base.BaseTestCase):
    def test_a_foreign_text_follows_a_sentence_of_the_driver(self) -> None:
        self.assertEqual(
            ANSWERS,
            {
                text: magnum_errors.to_client("upgrade", text)
                for text in ANSWERS
            },
        )


class TranslatedTest(base.BaseTestCase):
    def setUp(self) -> None:
        super().setUp()
        self.log = self.useFixture(fixtures.FakeLogger(level=logging.INFO))

    def _run(self, error: Exception) -> None:
        with magnum_errors.translated("create", "uuid-1"):
            raise error

    def test_a_refusal_is_one_line_of_log(self) -> None:
        error = self.assertRaises(
            exception.NotSupported, self._run, errors.NotSupported("no")
        )
        self.assertEqual("no", str(error))
        self.assertEqual(
            "create of cluster uuid-1 refused: no\n", self.log.output
        )

    def test_an_answer_has_a_first_sentence_that_is_not_cut(self) -> None:
        def run() -> None:
            with magnum_errors.translated("upgrade", "uuid-1", answer=True):
                raise errors.NotSupported("100% of v1.34.2 is old")

        error = self.assertRaises(exception.NotSupported, run)
        self.assertEqual(
            "the upgrade is refused, `openstack --debug` shows why. "
            "100% of v1.34.2 is old",
            str(error),
        )
        self.assertEqual(
            "upgrade of cluster uuid-1 refused: 100% of v1.34.2 is old\n",
            self.log.output,
        )

    def test_users_see_no_trace_of_what_was_behind_it(self) -> None:
        error = self.assertRaises(
            exception.MagnumException, self._run, errors.HelmError("no")
        )
        self.assertIsNone(error.__cause__)
        self.assertTrue(error.__suppress_context__)

    def test_errors_of_the_program_pass_through(self) -> None:
        self.assertRaises(KeyError, self._run, KeyError("bug"))
        self.assertEqual("", self.log.output)

    def test_without_an_error_nothing_happens(self) -> None:
        with magnum_errors.translated("create", "uuid-1"):
            pass
        self.assertEqual("", self.log.output)
