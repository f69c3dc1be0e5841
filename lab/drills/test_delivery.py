# SPDX-License-Identifier: Apache-2.0
"""Kubeconfigs are delivered to a receiver that is not always there."""

from __future__ import annotations

import base64
import pathlib
import subprocess
import tempfile
import time
from typing import Any

from prometheus_client import parser
import yaml

from lab.drills import case
from lab.drills import receiver
from magnum_capi_helm.kubernetes import kinds
from magnum_capi_helm.model import delivery_record
from magnum_capi_helm.model import names
from magnum_capi_helm.tests.functional import base
from magnum_capi_helm.tests.functional import people
from magnum_capi_helm.tests.functional import programs
from magnum_capi_helm.tests.unit.delivery import pki

_PENDING = "magnum_capi_helm_deliveries_pending"
_COUNTED = "magnum_capi_helm_delivery_seconds_count"
#: Seconds between two looks for a change, at least: the shortest there is.
_CHECKED = 60
#: Seconds between two polls of health on the lab.
_POLLED = 20
#: Seconds within which a conductor that has started looks at each cluster.
_FIRST = 300


class DeliveryTest(case.DrillCase):
    """A cluster from create to delete, with the sample receiver."""

    record = "delivery"

    def setUp(self) -> None:
        super().setUp()
        directory = tempfile.TemporaryDirectory()
        self.addCleanup(directory.cleanup)
        self.home = pathlib.Path(directory.name)
        self.receiver = receiver.Receiver(self.home)
        self.addCleanup(self.receiver.stop)
        authority = self.home / "receiver-ca.pem"
        authority.write_text(pki.trusted().pem)
        self.metrics = self.home / "metrics"
        self.metrics.mkdir()
        self.logged = len(base.magnum_log())
        self.configure_sections(
            {
                "DEFAULT": {"debug": "true"},
                "capi_helm": {
                    "delivery_url": self.receiver.url,
                    "delivery_key_file": str(self.receiver.key),
                    "delivery_ca_file": str(authority),
                    "delivery_check_interval": str(_CHECKED),
                    "metrics_dir": str(self.metrics),
                },
            }
        )

    def test_a_kubeconfig_arrives_once_for_each_change(self) -> None:
        self._made_while_the_receiver_is_another()
        self._delivered_when_it_is_the_right_one()
        self._changed_while_nobody_listens()
        self._delivered_by_a_conductor_that_has_started()
        self._nothing_for_another_credential()
        self._nothing_is_told()
        self.delete(self.cluster_uuid)
        self.assertEqual([], self.left_of(self.release))
        self.tell("shop is deleted, and its record of deliveries with it")

    def _made_while_the_receiver_is_another(self) -> None:
        stranger = pki.Authority("stranger")
        self.receiver.start("".join(stranger.signed("receiver", host=True)))
        self.tell("the receiver has a certificate of a CA that nobody trusts")
        self.cluster_uuid = self.cluster(
            self.template(), name=self.unique("shop")
        )
        made = self.until_status(self.cluster_uuid, ("CREATE_COMPLETE",))
        self.release = str(made["stack_id"])
        self.tell("cluster shop is CREATE_COMPLETE")
        problem = (
            f"No kubeconfig is delivered: the certificate of "
            f"https://127.0.0.1:{self.receiver.port} is not trusted, and "
            "nothing was sent: unable to get local issuer certificate"
        )
        self.until(lambda: problem in self.log(), 120)
        self.tell(
            f"the log: {problem.replace(str(self.receiver.port), '...')}"
        )
        # The log may have said so of another cluster, and each try that fails
        # pauses all clusters.
        self.until(lambda: self._secret() is not None, 300)
        self.first = self.kept()
        self.assertEqual("cluster.ready", self.first.event)
        self.assertNotIn("POST", self.receiver.answers())
        self.until(lambda: self.metric(_PENDING) == {"": 1.0}, 60)
        self.assertEqual({"failed"}, set(self.metric(_COUNTED)))
        self.tell(f"{_PENDING} 1; the receiver has no request")
        self.receiver.stop()

    def _delivered_when_it_is_the_right_one(self) -> None:
        self.receiver.start(pki.receiver())
        self.tell("the receiver has the right certificate")
        self.arrived(1, 400)
        kept = self.kept()
        self.assertEqual(self.first.id, kept.id)
        self.assertGreater(kept.attempts, 1)
        self.tell(
            f"delivered, with the id of the first try; tries: {kept.attempts}"
        )
        self._opens()

    def _opens(self) -> None:
        """The user is let in, and may do what RBAC says."""
        path = self.receiver.kubeconfig(self.cluster_uuid)
        self.assertEqual(0o600, path.stat().st_mode & 0o777)
        done = subprocess.run(
            [
                str(programs.LAB / "bin" / "kubectl"),
                f"--kubeconfig={path}",
                "get",
                "nodes",
                "--output=name",
            ],
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )
        self.assertIn("node/", done.stdout, done.stderr)
        self.tell("the cluster's API lets in who has the kubeconfig")

    def _changed_while_nobody_listens(self) -> None:
        self.receiver.stop()
        self.tell("the receiver is away; shop's kubeconfig gets another CA")
        name = names.kubeconfig(self.release)
        secret = self.plane.get(kinds.SECRET, self.namespace, name)
        assert secret is not None
        document = yaml.safe_load(base64.b64decode(secret["data"]["value"]))
        cluster = document["clusters"][0]["cluster"]
        own = base64.b64decode(cluster["certificate-authority-data"]).decode()
        both = f"{own}{pki.Authority('next').pem}"
        cluster["certificate-authority-data"] = _base64(both)
        self.plane.patch(
            kinds.SECRET,
            self.namespace,
            name,
            {"data": {"value": _base64(yaml.safe_dump(document))}},
        )
        self.until(lambda: self.kept().id != self.first.id, 4 * _CHECKED)
        self.second = self.kept()
        self.assertEqual("cluster.credentials_changed", self.second.event)
        self.until(
            lambda: "does not answer (Connection refused)" in self.log(), 120
        )
        self.tell("the change was noticed: a second id, and nobody to take it")

    def _delivered_by_a_conductor_that_has_started(self) -> None:
        programs.lab("stop", "magnum", "--kill")
        self.tell("the conductor is killed")
        programs.lab("start", "magnum")
        self.receiver.start(pki.receiver())
        self.tell("it starts again, and so does the receiver")
        self.arrived(2, 2 * _FIRST)
        ids = [each.id for each in self.receiver.deliveries(self.cluster_uuid)]
        self.assertEqual([self.first.id, self.second.id], ids)
        self.tell("delivered, with the second id")
        self._opens()

    def _nothing_for_another_credential(self) -> None:
        answered = self.receiver.answers().count("204: ")
        ids = [each.id for each in self.receiver.deliveries(self.cluster_uuid)]
        self.magnum.session.request(
            f"/credentials/{self.cluster_uuid}",
            "PATCH",
            endpoint_filter={"service_type": "container-infra"},
            headers={"OpenStack-API-Version": people.ROTATION},
        )
        self.until_status(self.cluster_uuid, ("UPDATE_COMPLETE",))
        # The next look is at most that far away, and the poll after it.
        time.sleep(1.25 * _CHECKED + 2 * _POLLED)
        # Each in the lab is delivered, and none of them for this.
        self.assertEqual(answered, self.receiver.answers().count("204: "))
        self.assertNotIn("Traceback", self.receiver.answers())
        found = self.receiver.deliveries(self.cluster_uuid)
        self.assertEqual(ids, [each.id for each in found])
        self.assertEqual(self.second.id, self.kept().id)
        self.tell(
            "$ openstack coe credential rotate shop: nothing is delivered"
        )
        self.until(lambda: self.metric(_PENDING) == {"": 0.0}, 60)
        self.tell(f"{_PENDING} 0; two deliveries reached the receiver in all")

    def _nothing_is_told(self) -> None:
        user = self.receiver.user(self.cluster_uuid)
        log = self.log()
        self.assertIn(" DEBUG ", log)
        for key, value in user.items():
            middle = len(value) // 2
            self.assertNotIn(value[middle : middle + 40], log, key)
        self.assertNotIn(self.receiver.key.read_text(), log)
        self.assertNotIn("/kubeconfigs", log)
        self.tell(
            "in Magnum's log at debug: no key, no certificate, no path of the "
            "URL"
        )

    # Looking

    def log(self) -> str:
        """What Magnum has logged in this drill."""
        return base.magnum_log()[self.logged :]

    def kept(self) -> delivery_record.Record:
        """Return the driver's own record."""
        secret = self._secret()
        assert secret is not None
        return delivery_record.read(secret)

    def _secret(self) -> dict[str, Any] | None:
        name = names.delivery(self.release)
        return self.plane.get(kinds.SECRET, self.namespace, name)

    def arrived(self, count: int, seconds: float) -> None:
        """So many deliveries have reached the receiver."""
        self.until(
            lambda: len(self.receiver.deliveries(self.cluster_uuid)) == count,
            seconds,
        )
        self.until(lambda: self.kept().delivered, 30)

    def metric(self, name: str) -> dict[str, float]:
        """Values of the newest process, by its last label."""
        files = sorted(
            self.metrics.glob("*.prom"), key=lambda each: each.stat().st_mtime
        )
        if not files:
            return {}
        families = parser.text_string_to_metric_families(files[-1].read_text())
        return {
            sample.labels.get("outcome", ""): sample.value
            for family in families
            for sample in family.samples
            if sample.name == name
        }


def _base64(text: str) -> str:
    return base64.b64encode(text.encode()).decode()
