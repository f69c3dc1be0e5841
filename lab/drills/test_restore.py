# SPDX-License-Identifier: Apache-2.0

"""The management cluster is lost, and comes back as it was an hour ago."""

from __future__ import annotations

import pathlib
import time

import fixtures
from keystoneauth1 import adapter

from lab.drills import fleet
from lab.drills import plane_backup
from magnum_capi_helm.cloud import credential_secret
from magnum_capi_helm.kubernetes import kinds
from magnum_capi_helm.kubernetes import location
from magnum_capi_helm.model import names
from magnum_capi_helm.tests.functional import programs

_MISSING = "nothing is concluded from that"
#: Seconds: several polls of each kind.
_LONG = 60
_UPDATED = ("UPDATE_COMPLETE", "UPDATE_FAILED")


class RestoreTest(fleet.FleetCase):
    """Clusters that were made, changed and deleted after the backup."""

    record = "restore"

    def test_an_older_backup_comes_back(self) -> None:
        self.files = pathlib.Path(self.useFixture(fixtures.TempDir()).path)
        self.configure(app_cred_grace="10", app_cred_check_interval="20")
        template = self.template()
        self.make(("steady", "grown", "rotated", "deleted"), template)
        self.before = self.machines()
        self._back_up()
        self._go_on(template)
        self._lose()
        self._restore()
        self._compare()
        self._remove_the_orphan()
        self._polls_conclude_nothing()
        self._replace_the_credential()
        self._resize()
        self._confirm_what_is_gone()
        self._all_agree()

    def tell(self, text: str) -> None:
        """With the names that an operator's files have."""
        for found, said in (
            (str(self.files), "/var/backups"),
            (self.namespace, "magnum-PROJECT"),
        ):
            text = text.replace(found, said)
        super().tell(text)

    # Before

    def _back_up(self) -> None:
        plane_backup.save(self.files / "etcd")
        self.tell("etcd is backed up")

    def _go_on(self, template: str) -> None:
        """What is done after the backup, and is not in it."""
        self.orphan = self.fleet.pop("deleted"), self.release.pop("deleted")
        self.fleet["late"] = self.cluster(template, name="late")
        self.magnum.call("DELETE", f"/clusters/{self.orphan[0]}")
        self._rotate()
        self.resize(self.fleet["grown"], 2)
        made = self.until_status(self.fleet["late"], ("CREATE_COMPLETE",))
        self.release["late"] = made["stack_id"]
        self.delete(self.orphan[0])
        self.tell(
            "after the backup: late is made, grown is resized to 2, the "
            "credential of rotated is rotated, deleted is deleted"
        )

    def _rotate(self) -> None:
        self._ask_for_rotation()
        self.current = self._credential("rotated")
        # The old one goes when the grace is over.
        self.until(
            lambda: len(self.credentials_of(self.fleet["rotated"])) == 1, 300
        )

    def _ask_for_rotation(self) -> None:
        api = adapter.Adapter(
            self.magnum.session,
            service_type="container-infra",
            additional_headers={
                "OpenStack-API-Version": "container-infra 1.12"
            },
        )
        api.patch(f"/credentials/{self.fleet['rotated']}")
        done = self.until_status(self.fleet["rotated"], _UPDATED)
        self.assertEqual("UPDATE_COMPLETE", done["status"], str(done))

    def _credential(self, name: str) -> str:
        """The id of the credential that a cluster's Secret has."""
        called = names.credentials(self.release[name])
        secret = self.plane.get(kinds.SECRET, self.namespace, called)
        login = credential_secret.login(secret)
        assert login is not None, name
        return login.id

    # The loss

    def _lose(self) -> None:
        """Nobody has stopped the conductors yet."""
        self.statuses = self.column("status")
        self.addCleanup(plane_backup.mend, self.files / "etcd")
        plane_backup.lose()
        self.tell("etcd and its disk are lost")
        self.until_all("health_status", "UNKNOWN", 240)
        self.assertEqual(self.statuses, self.column("status"))
        reason = self.row("steady")["health_status_reason"]
        self.tell(f"  all UNKNOWN, no status changes: {reason}")

    def _restore(self) -> None:
        programs.lab("stop", "magnum")
        self.tell("the conductors are stopped")
        plane_backup.restore(self.files / "etcd")
        self.tell("etcd is restored; API server and providers start")

    def _compare(self) -> None:
        """Every difference has a line."""
        self.typed("check", table=False)
        said = self.typed("list", code=1)
        states = said.of("State")
        self.assertEqual("ok", states["steady"])
        self.assertEqual("not on its management cluster", states["late"])
        self.assertIn("drift: the rows want something", states["grown"])
        orphans = [
            each for each in said.lines if each["State"].startswith("orphan")
        ]
        self.assertEqual(
            [self.orphan[1]], [each["Release"] for each in orphans]
        )

    # Step by step

    def _replace_the_credential(self) -> None:
        """Rotate it: the one of the backup is not in Keystone any more."""
        old = self._credential("rotated")
        self.assertNotEqual(self.current, old)
        self.tell("$ openstack coe credential rotate rotated")
        self._ask_for_rotation()
        self.until(lambda: self._credential("rotated") != old, 120)

    def _remove_the_orphan(self) -> None:
        uuid, release = self.orphan
        self._ran("helm", "uninstall", release)
        wanted = f"{location.CLUSTER_UUID}={uuid}"
        self._kubectl("delete", "secret,lease", "-l", wanted)
        self.until(lambda: self.left_of(release) == [], 120)
        self.tell("  nothing is left of it")

    def _polls_conclude_nothing(self) -> None:
        programs.lab("start", "magnum")
        self.tell("the conductors are started")
        until = time.monotonic() + _LONG
        while time.monotonic() < until:
            self.assertEqual(self.statuses, self.column("status"))
            time.sleep(5)
        self.until(lambda: _MISSING in self._health("late"), 180)
        self.tell(f"  late: UNKNOWN: {self._health('late')}")

    def _health(self, name: str) -> str:
        row = self.row(name)
        self.assertEqual("UNKNOWN", row["health_status"])
        return str(row["health_status_reason"])

    def _resize(self) -> None:
        """To the count that it has: what the rows want is applied."""
        self.tell("$ openstack coe cluster resize grown 2")
        self.resize(self.fleet["grown"], 2)
        self.assertEqual(2, self.row("grown")["node_count"])

    def _confirm_what_is_gone(self) -> None:
        """A deletion waits until it is."""
        uuid = self.fleet["late"]
        self.magnum.call("DELETE", f"/clusters/{uuid}")
        self.until(
            lambda: _MISSING in str(self.row("late")["status_reason"]), 180
        )
        self.tell("$ openstack coe cluster delete late")
        row = self.row("late")
        self.tell(f"  {row['status']}: {row['status_reason']}")
        self.assertEqual("DELETE_IN_PROGRESS", row["status"])
        self.assertEqual(1, len(self.credentials_of(uuid)))
        words = ("late", "--lost", "--apply")
        self.typed("management-cluster", "accept", *words)
        self.until(lambda: self.gone(uuid), 300)
        self.fleet.pop("late")
        self.release.pop("late")
        self.assertEqual([], self.credentials_of(uuid))
        self.tell("  late is deleted")

    def _all_agree(self) -> None:
        self.until_all("health_status", "HEALTHY", 300)
        self.typed("list")
        releases = set(self.release.values())
        old = {u: r for u, r in self.before.items() if r in releases}
        now = self.machines()
        self.assertEqual(old, {u: now.get(u) for u in old})
        (new,) = now.keys() - old.keys()
        self.assertEqual(self.release["grown"], now[new])
        self.tell(f"  the {len(old)} machines of the backup are the same")

    # Other commands

    def _kubectl(self, *words: str) -> None:
        self._ran("kubectl", *words)

    def _ran(self, program: str, *words: str) -> None:
        """A command on the project's namespace."""
        self.tell(f"$ {program} -n {self.namespace} {' '.join(words)}")
        programs.run(
            str(programs.LAB / "bin" / program),
            "-n",
            self.namespace,
            *words,
            env={"KUBECONFIG": str(programs.LAB / "kubeconfig")},
            seconds=300,
        )
