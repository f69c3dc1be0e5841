# SPDX-License-Identifier: Apache-2.0

"""The receiver in samples/, as an operator would run it."""

from __future__ import annotations

import base64
import contextlib
from http import client
import importlib.util
import io
import json
import pathlib
import ssl
import threading
import time
from typing import Any

import fixtures
from oslotest import base

import magnum_capi_helm
from magnum_capi_helm import delivery as deliveries
from magnum_capi_helm.config import conf
from magnum_capi_helm.tests.unit.delivery import pki

KEY, FORMER = b"k" * 32, b"f" * 32
UUID = "5d12f6fd-a196-4bf0-ae4c-1f639a523a52"
_PATH = (
    pathlib.Path(magnum_capi_helm.__file__).parents[1]
    / "samples"
    / "delivery_receiver.py"
)


def _sample() -> Any:
    spec = importlib.util.spec_from_file_location("delivery_receiver", _PATH)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


class ReceiverTest(base.BaseTestCase):
    def setUp(self) -> None:
        super().setUp()
        self.sample = _sample()
        self.directory = pathlib.Path(self.useFixture(fixtures.TempDir()).path)
        self.serve([KEY])

    def serve(self, keys: list[bytes]) -> None:
        pem = self.directory / "server.pem"
        pem.write_text(pki.receiver())
        self.ca = self.directory / "ca.pem"
        self.ca.write_text(pki.trusted().pem)
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(pem)
        inbox = self.sample.Inbox(str(self.directory), keys)
        serving = self.sample.Server(("127.0.0.1", 0), inbox, context)
        serving.RequestHandlerClass.log_message = lambda *args: None
        thread = threading.Thread(target=serving.serve_forever, args=(0.01,))
        thread.start()
        self.addCleanup(inbox.close)
        self.addCleanup(serving.server_close)
        self.addCleanup(thread.join)
        self.addCleanup(serving.shutdown)
        self.port = serving.server_address[1]

    def send(
        self,
        delivery: str = "kc_1",
        text: str = "first",
        *,
        created: str = "2026-01-01T00:00:00.000Z",
        keys: tuple[bytes, ...] = (KEY,),
        now: float | None = None,
        **body: Any,
    ) -> str:
        """Send one as the driver does; empty, or why it was refused."""
        options = conf.Delivery(
            url=f"https://127.0.0.1:{self.port}/",
            host="127.0.0.1",
            port=self.port,
            keys=keys,
            ca_file=str(self.ca),
            user="admin",
            interval=60.0,
        )
        document = {"delivery_id": delivery, "cluster_uuid": UUID}
        document |= {"created_at": created, "kubeconfig": text, **body}
        content = json.dumps(document).encode()
        moment = time.time() if now is None else now
        headers = deliveries.signature(keys, delivery, moment, content)
        try:
            deliveries.post(options, headers, content)
        except deliveries.NotDeliveredError as error:
            return str(error).rpartition(" ")[2]
        return ""

    def kept(self) -> str:
        return (self.directory / f"{UUID}.yaml").read_text()

    def test_a_signed_delivery_is_kept_for_its_owner_alone(self) -> None:
        self.assertEqual("401", self.send(keys=(FORMER,)))
        kept = self.directory / f"{UUID}.yaml"
        self.assertFalse(kept.exists())
        self.assertEqual("", self.send())
        self.assertEqual("first", self.kept())
        self.assertEqual(0o600, kept.stat().st_mode & 0o777)

    def test_former_deliveries_are_accepted_and_not_taken(self) -> None:
        self.send()
        for restarted in (False, True):
            if restarted:
                self.serve([KEY])
            self.assertEqual("", self.send(text="again"))
            self.assertEqual("first", self.kept())

    def test_a_later_one_takes_the_place_of_an_earlier_one(self) -> None:
        self.send()
        self.send("kc_3", "third", created="2026-01-03T00:00:00.000Z")
        self.assertEqual("third", self.kept())
        self.send("kc_2", "second", created="2026-01-02T00:00:00.000Z")
        self.assertEqual("third", self.kept())

    def test_while_keys_change_either_side_may_be_first(self) -> None:
        self.assertEqual("", self.send(keys=(FORMER, KEY)))
        self.serve([FORMER, KEY])
        self.assertEqual("", self.send("kc_2", keys=(FORMER,)))

    def test_a_sender_without_trust_is_a_line_in_its_log(self) -> None:
        said = io.StringIO()
        self.useFixture(fixtures.MonkeyPatch("sys.stderr", said))
        self.ca.write_text(pki.Authority("another").pem)
        # It tells of it in a thread of its own.
        self.assertEqual("delivery_ca_file)", self.send())
        until = time.monotonic() + 10
        while "\n" not in said.getvalue() and time.monotonic() < until:
            time.sleep(0.01)
        [line] = said.getvalue().splitlines()
        self.assertRegex(line, r"^\('127\.0\.0\.1', \d+\): .*ALERT")

    def test_an_old_timestamp_is_refused(self) -> None:
        for seconds, answer in ((-290, ""), (-310, "400"), (310, "400")):
            found = self.send(now=time.time() + seconds)
            self.assertEqual(answer, found, str(seconds))

    def test_an_invalid_delivery_is_refused(self) -> None:
        bodies: list[dict[str, Any]] = [
            {"cluster_uuid": "../../etc/passwd"},
            {"delivery_id": "kc_9"},
            {"created_at": None},
            {"kubeconfig": 5},
        ]
        for body in bodies:
            self.assertEqual("400", self.send(**body), str(body))

    def test_a_long_body_is_refused_unread(self) -> None:
        context = ssl.create_default_context(cafile=str(self.ca))
        asking = client.HTTPSConnection(
            "127.0.0.1", self.port, timeout=30, context=context
        )
        with contextlib.closing(asking):
            asking.request("POST", "/", headers={"content-length": "1048577"})
            self.assertEqual(413, asking.getresponse().status)

    def test_its_key_file_is_the_driver_s(self) -> None:
        path = self.directory / "key"
        text = base64.b64encode(KEY).decode()
        path.write_text(f"whsec_{text}\n{base64.b64encode(FORMER).decode()}\n")
        path.chmod(0o600)
        self.assertEqual([KEY, FORMER], self.sample.read_keys(str(path)))
        self.assertEqual((KEY, FORMER), conf.read_keys(str(path)))
