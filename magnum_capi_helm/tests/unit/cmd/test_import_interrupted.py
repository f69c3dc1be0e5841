# SPDX-License-Identifier: Apache-2.0

"""``import`` in its order: stopped, killed or raced, it goes on from there."""

from __future__ import annotations

import time
from typing import Any

from magnum_capi_helm import runtime
from magnum_capi_helm.backup import files
from magnum_capi_helm.backup import restoring
from magnum_capi_helm.management import answers
from magnum_capi_helm.management import kinds
from magnum_capi_helm.model import errors
from magnum_capi_helm.model import names
from magnum_capi_helm.tests.fakes import management
from magnum_capi_helm.tests.unit.cmd import backups
from magnum_capi_helm.tests.unit.lifecycle import base

RELEASE = base.RELEASE
RECORD = backups.RECORD
INTENT = backups.INTENT
CREDENTIALS = backups.CREDENTIALS
CA = backups.CA
ETCD = backups.ETCD
PROXY = backups.PROXY
SA = backups.SA


class InterruptedTest(backups.ImportTestCase):
    def test_keys_come_first_and_helms_newest_record_before_older(
        self,
    ) -> None:
        for count in (3, 4):
            self.resize(count)
            self.capi.settle()
            self.poll()
        self.export()
        self.lose()
        self.management.requests.clear()
        self.bring("--apply")
        made = [each for each in self.writes() if each.startswith("create ")]
        record = [names.helm_record(RELEASE, each) for each in (3, 2, 1)]
        secrets = (
            CREDENTIALS,
            CA,
            ETCD,
            PROXY,
            SA,
            INTENT,
            *record,
        )
        self.assertEqual([f"create {each}" for each in secrets], made)

    def test_stopped_half_way_it_says_so_and_goes_on_when_asked(self) -> None:
        self.lose()
        refusal = answers.ForbiddenError("forbidden: create (403)")
        self.management.fail(
            refusal, verbs=("create",), kind=kinds.SECRET, name=SA
        )
        code, result, detail = self.bring("--apply")
        self.assertEqual((1, "failed"), (code, result))
        self.assertEqual(
            f"Secret {SA} was not made: forbidden: create (403); made "
            f"before: Secret {CREDENTIALS}, Secret {CA}, Secret {ETCD}, "
            f"Secret {PROXY}; still to make: Secret {SA}, Secret {INTENT}, "
            f"Secret {RECORD}: import again",
            detail,
        )
        self.assertEqual(
            {CREDENTIALS, CA, ETCD, PROXY},
            set(self.secrets()),
        )
        self.management.recover()
        self.assertEqual((0, "changed"), self.bring("--apply")[:2])
        self.assertEqual(self.before, self.secrets())

    def test_killed_at_any_point_it_is_resumed(self) -> None:
        for name in (
            CREDENTIALS,
            SA,
            INTENT,
            RECORD,
        ):
            self.lose()
            self.management.kill_before("create", kinds.SECRET, name)
            self.assertRaises(management.Killed, self.bring, "--apply")
            self.management.recover()
            lease = {"spec": {"holderIdentity": ""}}
            self.server.patch(kinds.LEASE, base.NAMESPACE, RELEASE, lease)
            self.assertEqual((0, "changed"), self.bring("--apply")[:2])
            self.assertEqual(self.before, self.secrets())

    def test_somebody_else_makes_a_secret_meanwhile(self) -> None:
        for extra, expected in ((None, "changed"), ("b3RoZXI=", "failed")):
            self.lose(CA)
            made = {
                "metadata": {
                    "name": CA,
                    "namespace": base.NAMESPACE,
                    "labels": self.before[CA]["labels"],
                },
                "type": self.before[CA]["type"],
                "data": {**self.before[CA]["data"]},
            }
            if extra:
                made["data"]["extra"] = extra
            original = self.management.create

            def race(
                kind: kinds.Kind,
                obj: Any,
                made: Any = made,
                original: Any = original,
            ) -> Any:
                self.management.create = original  # type: ignore[method-assign]
                self.server.create(kind, made)
                return original(kind, obj)

            self.management.create = race  # type: ignore[method-assign]
            _, result, detail = self.bring("--apply")
            self.assertEqual(expected, result)
            if extra:
                self.assertIn("made it meanwhile, and not as in", detail)


class FrozenTest(backups.ImportTestCase):
    """The operator freezes the management cluster."""

    def setUp(self) -> None:
        super().setUp()
        self.lose()
        self.server.delete(kinds.NAMESPACE, "", base.NAMESPACE)

    def freeze(self) -> None:
        runtime.get().anchor.freeze("etcd moves", "op@host", time.time())
        self.plane.clock.advance(60.0)
        self.management.requests.clear()

    def test_not_even_a_namespace_is_made_and_the_show_says_so(self) -> None:
        self.freeze()
        for argv in ((), ("--apply",)):
            code, result, detail = self.bring(*argv)
            self.assertEqual((1, "refused"), (code, result))
            self.assertIn("frozen for maintenance", detail)
        self.assertEqual([], self.writes())

    def test_nor_where_it_is_frozen_after_the_look(self) -> None:
        self.freeze()
        self.assertRaises(
            errors.Frozen,
            restoring.restore,
            runtime.get(),
            self.row(),
            files.read(self.file),
            partly=False,
        )
        self.assertEqual([], self.writes())

    def test_where_nothing_is_missing_there_is_nothing_to_refuse(self) -> None:
        self.bring("--apply")
        self.freeze()
        self.assertEqual((0, "nothing to do", ""), self.bring("--apply"))
