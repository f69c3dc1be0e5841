# Licensed under the Apache License, Version 2.0 (the "License"); you may
# not use this file except in compliance with the License. You may obtain
# a copy of the License at
#
#      http://www.apache.org/licenses/LICENSE-2.0
#
# Unless required by applicable law or agreed to in writing, software
# distributed under the License is distributed on an "AS IS" BASIS, WITHOUT
# WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the
# License for the specific language governing permissions and limitations
# under the License.
"""The driver's exceptions, and what Magnum makes of them."""

from __future__ import annotations

import inspect
import logging
from typing import Any

import fixtures
from magnum.common import exception
from oslotest import base

from magnum_capi_helm import exceptions
from magnum_capi_helm import faults

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
    "ReleaseStranded": (exception.MagnumException, 500, False),
    "ReleaseAbsent": (exception.MagnumException, 500, False),
    "ChartUnavailable": (exception.MagnumException, 500, False),
    "ChartUnstorable": (exception.MagnumException, 500, False),
    "LeaseHeld": (exception.OperationInProgress, 400, True),
    "LeaseLost": (exception.OperationInProgress, 400, True),
}


def instance(kind: type[exceptions.CapiHelmError]) -> exceptions.CapiHelmError:
    if issubclass(kind, exceptions.LabelError):
        return kind("size", "big", "a number")
    if issubclass(kind, exceptions.Frozen):
        return kind("the management cluster", "what is wrong")
    if issubclass(kind, exceptions.NoTurn):
        return kind(3)
    return kind("what is wrong")


class MappingTest(base.BaseTestCase):
    def test_each_exception_is_one_of_magnums(self) -> None:
        declared = {
            name: kind
            for name, kind in inspect.getmembers(exceptions, inspect.isclass)
            if issubclass(kind, exceptions.CapiHelmError)
        }
        found: dict[str, Any] = {}
        for name, kind in declared.items():
            theirs: Any = faults.as_magnum(instance(kind))
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
            [str(faults.as_magnum(exceptions.InvalidInput(t))) for t in texts],
        )

    def test_a_label_error_says_which_label_and_what_is_allowed(self) -> None:
        error = exceptions.LabelError("size", "big", "a number")
        self.assertEqual(
            "label size='big' is not allowed: give a number", str(error)
        )


#: What is refused -> the answer of the API, whose first sentence is all that
#: ``openstack coe`` shows.
ANSWERS = {
    "no": "no",
    "It's wrong. Give another.": "It's wrong. Give another.",
    "size=9 is too big: give 1 to 3. It is 2.5 now": (
        "size=9 is too big: give 1 to 3. It is 2.5 now"
    ),
    "flavor 'm1.worker' has no disk": (
        "flavor '[1]' has no disk. [1] is m1.worker"
    ),
    "give v1.35.1, or 1.36.": "give [1], or [2]. [1] is v1.35.1, [2] is 1.36.",
    "a.b, c.d and a.b. Give e.f": (
        "[1], [2] and [1]. [1] is a.b, [2] is c.d. Give e.f"
    ),
    'webhook "a.b.io" denied: spec.network: Forbidden': (
        'webhook "[1]" denied: [2]: Forbidden. '
        "[1] is a.b.io, [2] is spec.network"
    ),
    "https://10.0.0.1:6443/api: no answer (see /etc/a.conf)": (
        "[1]: no answer (see [2]). "
        "[1] is https://10.0.0.1:6443/api, [2] is /etc/a.conf"
    ),
    "label a='xxx...' is not allowed: give _ . or -": (
        "label a='[1]' is not allowed: give _ [2] or -. "
        "[1] is xxx..., [2] is ."
    ),
}


class AnswerTest(base.BaseTestCase):
    def test_the_first_sentence_has_no_word_with_a_full_stop(self) -> None:
        self.assertEqual(
            ANSWERS, {text: faults.to_client(text) for text in ANSWERS}
        )


class TranslatedTest(base.BaseTestCase):
    def setUp(self) -> None:
        super().setUp()
        self.log = self.useFixture(fixtures.FakeLogger(level=logging.INFO))

    def _run(self, error: Exception) -> None:
        with faults.translated("create", "uuid-1"):
            raise error

    def test_a_refusal_is_one_line_of_log(self) -> None:
        error = self.assertRaises(
            exception.NotSupported, self._run, exceptions.NotSupported("no")
        )
        self.assertEqual("no", str(error))
        self.assertEqual(
            "create of cluster uuid-1 refused: no\n", self.log.output
        )

    def test_an_answer_names_dotted_words_after_its_first_sentence(
        self,
    ) -> None:
        def run() -> None:
            with faults.translated("upgrade", "uuid-1", answer=True):
                raise exceptions.NotSupported("100% of v1.34.2 is old")

        error = self.assertRaises(exception.NotSupported, run)
        self.assertEqual(
            "100% of [1] is old. [1] is v1.34.2",
            str(error),
        )
        self.assertEqual(
            "upgrade of cluster uuid-1 refused: 100% of v1.34.2 is old\n",
            self.log.output,
        )

    def test_users_see_no_trace_of_what_was_behind_it(self) -> None:
        error = self.assertRaises(
            exception.MagnumException, self._run, exceptions.HelmError("no")
        )
        self.assertIsNone(error.__cause__)
        self.assertTrue(error.__suppress_context__)

    def test_errors_of_the_program_pass_through(self) -> None:
        self.assertRaises(KeyError, self._run, KeyError("bug"))
        self.assertEqual("", self.log.output)

    def test_without_an_error_nothing_happens(self) -> None:
        with faults.translated("create", "uuid-1"):
            pass
        self.assertEqual("", self.log.output)
