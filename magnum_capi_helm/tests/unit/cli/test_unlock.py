# SPDX-License-Identifier: Apache-2.0

"""``magnum-capi-helm cluster unlock``: who is dead, and what is freed."""

from __future__ import annotations

from collections.abc import Callable
import io
import time
from typing import Any

from magnum_capi_helm import runtime
from magnum_capi_helm.cli import base as commands
from magnum_capi_helm.cli import cluster as command
from magnum_capi_helm.kubernetes import helm_records
from magnum_capi_helm.kubernetes import kinds
from magnum_capi_helm.model import errors
from magnum_capi_helm.model import names
from magnum_capi_helm.operations import unlock as unlocking
from magnum_capi_helm.tests.unit.cli import command_case
from magnum_capi_helm.tests.unit.lifecycle import base

LEASE = (kinds.LEASE, base.NAMESPACE, base.RELEASE)
RECORD = names.helm_record(base.RELEASE, 1)


class Watching(command.Unlock):
    """Time passes between two looks, and something happens."""

    meanwhile: Callable[[], None]

    def _pause(self) -> None:
        self.meanwhile()


class UnlockTestCase(base.FlowTestCase):
    """A cluster that is complete, and nobody works on it."""

    def setUp(self) -> None:
        super().setUp()
        self.complete()
        self.out, self.err = io.StringIO(), io.StringIO()

    def unlock(self, *argv: str) -> tuple[int, dict[str, tuple[str, ...]]]:
        """Exit code; state, by whom and result, of each thing."""
        self.err = io.StringIO()
        code, self.lines = command_case.run_json(
            Watching, "web", *argv, err=self.err, meanwhile=self.meanwhile
        )
        return code, {
            each["What"]: (each["State"], each["By"], each["Result"])
            for each in self.lines
        }

    def meanwhile(self) -> None:
        """A second passes."""
        self.plane.clock.advance(1.0)

    def hold(self, seconds: float = 600.0) -> None:
        """Somebody took the Lease, and renewed it that long ago."""
        moment = time.gmtime(time.time() - seconds)
        renewed = time.strftime("%Y-%m-%dT%H:%M:%S.000000Z", moment)
        spec = {"holderIdentity": "ctl2/1/a", "renewTime": renewed}
        self.server.patch(*LEASE, {"spec": spec})

    def begin(self, seconds: float = 600.0) -> None:
        """A helm began a revision that long ago, and did not end it."""
        labels = {
            "status": "pending-upgrade",
            "modifiedAt": str(int(time.time() - seconds)),
        }
        change = {"metadata": {"labels": labels}}
        self.server.patch(kinds.SECRET, base.NAMESPACE, RECORD, change)

    def holder(self) -> str:
        """Who holds the Lease."""
        found = self.server.get(*LEASE)
        assert found is not None
        return str(found["spec"]["holderIdentity"])

    def revision(self) -> str:
        """helm's word for the newest revision."""
        found = helm_records.revisions(
            runtime.get().management, base.NAMESPACE, base.RELEASE
        )
        return found[-1].status

    def writes(self) -> set[str]:
        """Requests that are no reads."""
        verbs = {each.verb for each in self.management.requests}
        return verbs & {"create", "replace", "patch", "delete", "apply"}

    def audits(self, became: str) -> int:
        """How often the log says so."""
        who = commands.operator("unlock")
        line = f"INFO audit: cluster {self.uuid}: {became}: {who}"
        return int(self.log.output.splitlines().count(line))


class DeadTest(UnlockTestCase):
    def test_nothing_is_locked(self) -> None:
        self.assertEqual(
            (0, {"Lease": ("free", "", "nothing to do")}),
            self.unlock("--apply"),
        )
        self.assertEqual(0, self.audits("accepted"))

    def test_it_is_shown_and_not_done(self) -> None:
        self.hold()
        self.begin()
        self.management.requests.clear()
        self.assertEqual(
            (
                0,
                {
                    "Lease": ("stale", "ctl2/1/a", "would be freed"),
                    "revision 1": (
                        "pending-upgrade",
                        "helm",
                        "would be freed",
                    ),
                },
            ),
            self.unlock(),
        )
        self.assertEqual(
            ["10 min", "10 min"], [each["Age"] for each in self.lines]
        )
        self.assertEqual(set(), self.writes())
        self.assertEqual(
            "nothing was written: add --apply to free it\n",
            self.err.getvalue(),
        )

    def test_a_dead_holder_s_lease_is_freed(self) -> None:
        self.hold()
        code, found = self.unlock("--apply")
        self.assertEqual((0, "freed"), (code, found["Lease"][2]))
        self.assertEqual("", self.holder())
        self.assertEqual("deployed", self.revision())
        self.assertEqual(1, self.audits("accepted"))

    def test_a_pending_revision_is_called_failed(self) -> None:
        self.begin()
        code, found = self.unlock("--apply")
        self.assertEqual((0, "freed"), (code, found["revision 1"][2]))
        self.assertEqual("failed", self.revision())
        self.assertEqual("", self.holder())

    def test_a_holder_is_watched_for_as_long_as_a_lease_lasts(self) -> None:
        """By the observer's own clock: the holder's may be an hour behind."""
        self.hold(3600)
        began = self.plane.clock()
        self.unlock()
        self.assertLessEqual(30.0, self.plane.clock() - began)

    def test_the_next_operation_goes_on(self) -> None:
        self.hold()
        self.begin()
        self.unlock("--apply")
        self.resize(3)
        self.capi.settle()
        self.poll()
        self.assertEqual("UPDATE_COMPLETE", self.row().status)


class AliveTest(UnlockTestCase):
    def setUp(self) -> None:
        super().setUp()
        self.hold()

    def meanwhile(self) -> None:
        """The holder renews it."""
        self.plane.clock.advance(8.0)
        self.hold(0)

    def test_a_holder_who_renews_keeps_it(self) -> None:
        self.begin()
        self.management.requests.clear()
        code, found = self.unlock("--apply")
        self.assertEqual(1, code)
        self.assertEqual(("held", "ctl2/1/a", "refused"), found["Lease"])
        self.assertEqual("refused", found["revision 1"][2])
        self.assertEqual(
            "ctl2/1/a is alive: it has renewed the Lease; add --force "
            "to free it anyway\n",
            self.err.getvalue(),
        )
        self.assertEqual(set(), self.writes())
        self.assertEqual("pending-upgrade", self.revision())
        self.assertEqual(1, self.audits("refused"))

    def test_force_takes_it_away_from_the_living(self) -> None:
        self.begin(1)
        code, found = self.unlock("--apply", "--force")
        self.assertEqual((0, "freed"), (code, found["Lease"][2]))
        self.assertEqual("", self.holder())
        self.assertEqual("failed", self.revision())
        self.assertEqual(1, self.audits("accepted"))

    def test_force_alone_writes_nothing(self) -> None:
        self.management.requests.clear()
        code, found = self.unlock("--force")
        self.assertEqual((0, "would be freed"), (code, found["Lease"][2]))
        self.assertEqual(set(), self.writes())

    def test_the_living_writes_nothing_more(self) -> None:
        rt = runtime.get()
        self.server.patch(*LEASE, {"spec": {"holderIdentity": ""}})
        with rt.leases.hold(base.NAMESPACE, base.RELEASE, {}) as hold:
            unlocking.take_away(rt, (base.NAMESPACE, base.RELEASE))
            self.plane.clock.advance(21.0)
            self.assertRaises(errors.LeaseLost, hold.confirm)


class RecentTest(UnlockTestCase):
    def test_a_helm_without_a_lease_may_be_at_work(self) -> None:
        self.begin(300)
        code, found = self.unlock("--apply")
        self.assertEqual((1, "refused"), (code, found["revision 1"][2]))
        self.assertIn("may still work on revision 1", self.err.getvalue())
        self.assertEqual("pending-upgrade", self.revision())
        self.begin(340)
        self.assertEqual(0, self.unlock("--apply")[0])
        self.assertEqual("failed", self.revision())

    def test_who_comes_meanwhile_is_not_disturbed(self) -> None:
        self.begin()
        original = self.management.list
        looks: list[Any] = []

        def listed(*args: Any, **kwargs: Any) -> Any:
            found = original(*args, **kwargs)
            if not looks:
                looks.append(found)
                self.hold(0)
            return found

        self.management.list = listed  # type: ignore[method-assign]
        code, found = self.unlock("--apply")
        self.assertEqual((1, "refused"), (code, found["revision 1"][2]))
        self.assertIn("another conductor works on", self.err.getvalue())
        self.assertEqual("pending-upgrade", self.revision())
        self.assertEqual("ctl2/1/a", self.holder())

    def test_a_frozen_management_cluster_stays_as_it_is(self) -> None:
        self.begin()
        runtime.get().maintenance.freeze("etcd moves", "op@host", time.time())
        for held, *force in ((False,), (True,), (True, "--force")):
            if held:
                self.hold()
            self.plane.clock.advance(60.0)
            self.management.requests.clear()
            self.assertRaises(errors.Frozen, self.unlock, "--apply", *force)
            self.assertEqual(set(), self.writes(), (held, force))
        self.assertEqual("pending-upgrade", self.revision())
        self.assertEqual("ctl2/1/a", self.holder())

    def test_a_cluster_of_which_nothing_was_made(self) -> None:
        row = self.row()
        row.stack_id = None
        row.save()
        self.assertRaises(errors.NotSupported, self.unlock)
