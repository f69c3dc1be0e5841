# SPDX-License-Identifier: Apache-2.0

"""The process of helm: its deadline, its session, its absence."""

from __future__ import annotations

import os
import select
import shlex
import shutil
import time
from unittest import mock

from magnum_capi_helm.model import call
from magnum_capi_helm.model import errors
from magnum_capi_helm.tests.unit.helm import program


class ProcessTest(program.HelmTestCase):
    #: Half a second of the grace beyond helm's own time-out remains.
    HALF_A_SECOND = -29.5

    def test_the_deadline_ends_helm_and_all_that_it_started(self) -> None:
        self.stub("sleep 60 & echo $! > child; wait")
        helm = self.helm(self.HALF_A_SECOND)
        began = time.monotonic()
        error = self.assertRaises(errors.HelmUnreachable, self.upgrade, helm)
        self.assertLess(time.monotonic() - began, 1)
        self.assertIn("helm upgrade did not end within", str(error))
        self.assertTrue(_ends(int(self.noted("child"))))

    def test_a_helm_that_was_killed_is_tried_again(self) -> None:
        self.stub("kill -KILL $$")
        error = self.assertRaises(errors.HelmUnreachable, self.upgrade)
        self.assertEqual("helm upgrade was killed (SIGKILL)", str(error))
        self.assertTrue(error.retriable)

    def test_helm_is_the_leader_of_its_own_session(self) -> None:
        self.stub(
            "ps -o sid= -p $$ > sid; "
            f"printf '%s' {shlex.quote(program.RELEASE)}"
        )
        self.upgrade()
        self.assertNotEqual(os.getsid(0), int(self.noted("sid")))

    def test_without_the_lease_none_is_started(self) -> None:
        self.stub("touch started")

        def refuse() -> None:
            raise errors.LeaseLost("demo-1")

        with call.lease_guard(refuse):
            self.assertRaises(errors.LeaseLost, self.upgrade)
        self.assertFalse((self.home / "started").exists())

    def test_helm_is_ended_once_the_lease_is_lost(self) -> None:
        self.stub(
            "trap 'touch told; kill $!; exit 1' TERM; "
            "sleep 60 & echo $! > child; touch started; wait"
        )

        def lost() -> bool:
            return (self.home / "started").exists()

        def confirm() -> None:
            if lost():
                raise errors.LeaseLost("demo-1", "two/1")

        began = time.monotonic()
        with call.lease_guard(confirm, lost):
            error = self.assertRaises(errors.LeaseLost, self.upgrade)
        self.assertLess(time.monotonic() - began, 10)
        self.assertEqual(
            "the Lease of demo-1 was taken over by two/1", str(error)
        )
        self.assertTrue((self.home / "told").exists())
        self.assertTrue(_ends(int(self.noted("child"))))

    def test_while_the_lease_is_held_it_has_its_time(self) -> None:
        self.stub(f"sleep 0.7; printf '%s' {shlex.quote(program.RELEASE)}")
        with call.lease_guard(lambda: None, lambda: False):
            self.upgrade()

    def test_a_missing_helm_names_the_version_to_install(self) -> None:
        """Also beside a setpriv."""
        setpriv = shutil.which("setpriv")
        for planted in (None, setpriv):
            if planted:
                (self.bin / "setpriv").symlink_to(planted)
            with mock.patch.dict(os.environ, {"PATH": str(self.bin)}):
                error = self.assertRaises(errors.NotConfigured, self.upgrade)
            self.assertIn("install helm", str(error))


def _ends(pid: int) -> bool:
    try:
        handle = os.pidfd_open(pid)
    except ProcessLookupError:
        return True
    try:
        return bool(select.select([handle], [], [], 5)[0])
    finally:
        os.close(handle)
