# SPDX-License-Identifier: Apache-2.0

"""What Magnum and ``openstack coe`` make of the driver's exceptions.

Magnum's API answers an upgrade and a rotation when the driver is done with
it: the client prints the first sentence of a refusal, which names the field
and the rule. The value and examples follow in the detail. Of all else the API
knows nothing when it answers, and the client prints the status_reason, which
is the whole text.
"""

from __future__ import annotations

import inspect
import logging
from typing import Any

import fixtures
from magnum.common import exception
from oslotest import base
import requests

from magnum_capi_helm.kubernetes import kinds
from magnum_capi_helm.model import cluster_spec
from magnum_capi_helm.model import errors
from magnum_capi_helm.operations import magnum_errors
from magnum_capi_helm.tests.fakes import cloud as fake_cloud
from magnum_capi_helm.tests.fakes import magnum_client
from magnum_capi_helm.tests.unit.credentials import rotating
from magnum_capi_helm.tests.unit.kubernetes import api
from magnum_capi_helm.tests.unit.lifecycle import upgrading

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


#: Fields of a template that a cluster is to be upgraded to -> what the client
#: prints, and the rest of the text.
_UPGRADES: dict[str, tuple[dict[str, Any], str, str]] = {
    "wrong CIDR": (
        {"labels": {"api_master_lb_allowed_cidrs": "10.0.0.0/33"}},
        "label api_master_lb_allowed_cidrs: give IPv4 networks without host "
        "bits, separated by commas",
        "It is '10.0.0.0/33'; an example is 192.0.2.0/24, or 192.0.2.1/32 "
        "for one address",
    ),
    "bad version": (
        {"image_id": "ubuntu-odd"},
        "image_id: the image's property kube_version is no Kubernetes version",
        "Image 'ubuntu-1.x' has '1.x'; an example is v1.34.2",
    ),
    "image without property": (
        {"image_id": "bare"},
        "image_id: the image has no property kube_version; set it, or give "
        "the label kube_tag",
        "It is 'bare'; to set it: `openstack image set --property "
        "kube_version=v1.34.2 i-b`",
    ),
}


def _from_the_client(answer: api.Answer | Exception) -> Exception:
    """Return what the management cluster's client makes of an answer."""
    # The client asks three times, if that may help.
    management, _ = api.over(answer, answer, answer)
    try:
        management.get(kinds.SECRET, "ns", "s")
    except errors.ManagementError as error:
        return error
    raise AssertionError("no error")


class UpgradeAnswersTest(upgrading.UpgradeTestCase):
    def setUp(self) -> None:
        super().setUp()
        api.no_pauses(self)

    def catalogue(self, session: Any) -> fake_cloud.FakeCloud:
        found = super().catalogue(session)
        found.images["ubuntu-odd"] = cluster_spec.Image(
            "i-o", "ubuntu-1.x", "1.x", "ubuntu"
        )
        return found

    def answer(self, template: Any, **options: Any) -> magnum_client.Answer:
        return magnum_client.answer(
            self.assertRaises(
                exception.NotSupported, self.upgrade, template, **options
            )
        )

    def test_the_first_sentence_is_printed_the_values_follow(self) -> None:
        expected, found = {}, {}
        for title, (fields, printed, rest) in _UPGRADES.items():
            expected[title] = magnum_client.Answer(
                f"{printed} (HTTP 400)", f"{printed}. {rest}"
            )
            found[title] = self.answer(self.template(**fields))
            self.assertTrue(found[title].detail.isascii(), title)
        self.assertEqual(expected, found)

    def test_the_answer_of_a_management_cluster_is_shown(self) -> None:
        """What it answers to the dry run of an upgrade."""
        forbidden = 'secrets "s.v1" is forbidden'
        denied = 'admission webhook "w.x-k8s.io" denied the request: no'
        rows: dict[str, tuple[api.Answer | Exception, str, str]] = {
            "no answer": (
                requests.ConnectTimeout("slow"),
                "the management cluster does not answer (ConnectTimeout); "
                "try again in a moment",
                "",
            ),
            "its own failure": (
                api.status(500, "etcd.v3 timed out"),
                "the management cluster refused GET Secret s (500); try "
                "again in a moment",
                "etcd.v3 timed out",
            ),
            "no permission": (
                api.status(403, forbidden),
                "the management cluster refused GET Secret s (403); check "
                "the kubeconfig's user and its permissions",
                forbidden,
            ),
            "a webhook": (
                api.status(422, denied),
                "the template does not fit this cluster: the management "
                "cluster refused GET Secret s (422)",
                denied,
            ),
        }
        expected, found = {}, {}
        for title, (answer, printed, rest) in rows.items():
            expected[title] = magnum_client.Answer(
                f"{printed} (HTTP 400)",
                f"{printed}. {rest}".removesuffix(". "),
            )
            self.management.recover()
            self.fails("dry-run", error=_from_the_client(answer))
            found[title] = self.answer(self.template(image_id="ubuntu-1.35"))
        self.assertEqual(expected, found)


class RotationAnswersTest(rotating.RotationTestCase):
    """``openstack coe credential rotate``, with the codes of its errors."""

    def answer(self) -> magnum_client.Answer:
        return magnum_client.answer(
            self.assertRaises(exception.MagnumException, self.rotate)
        )

    def test_another_keypair_of_the_same_name(self) -> None:
        self.login(user="other_user")
        self.keypairs = {("", "mine"): "ssh-ed25519 BBBB"}
        printed = (
            "your keypair is not the cluster's of that name, and new machines "
            "would get it: rename or delete yours, or rotate as a user who "
            "has none of that name"
        )
        self.assertEqual(
            magnum_client.Answer(
                f"{printed} (HTTP 400)", f"{printed}. It is 'mine'"
            ),
            self.answer(),
        )

    def test_the_message_of_keystone_follows(self) -> None:
        self.openstack.refusals["POST"] = 403
        printed = "Keystone makes no application credential for you"
        found = self.answer()
        self.assertEqual(f"{printed} (HTTP 400)", found.printed)
        self.assertEqual(f"{printed}. no (HTTP 403)", found.detail)
