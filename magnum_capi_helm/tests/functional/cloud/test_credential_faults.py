# SPDX-License-Identifier: Apache-2.0

"""Users read that CAPO can't log in: it tells so in its log alone.

CAPO keeps a token for as long as that is valid, so the tests restart CAPO.
"""

from __future__ import annotations

import base64
from collections.abc import Callable, Iterator
import contextlib
import pathlib
import socketserver
import ssl
import threading

from keystoneauth1 import exceptions as ka_exceptions
import yaml

from magnum_capi_helm.kubernetes import kinds
from magnum_capi_helm.model import names
from magnum_capi_helm.tests.functional import people
from magnum_capi_helm.tests.functional import programs
from magnum_capi_helm.tests.functional.cloud import fault_case

#: Seconds between two checks of a credential, and until the driver asks what
#: CAPO does not say.
_CHECK, _MUTE = 20, 60
_REFUSED = r"\[credential-refused\]"
_LOGIN = "(?:[Aa]uthenticat|x509)"


class CredentialTest(fault_case.OneCluster):
    """A cluster that grows, and loses its login each time."""

    def test_each_fault_of_the_login_is_named(self) -> None:
        self.configure(app_cred_check_interval=str(_CHECK))
        self.make()
        self.complete("CREATE")
        self.secret = names.credentials(self.name)
        self._deleted()
        self._wrong_ca()

    def _deleted(self) -> None:
        login = people.login(self._data()["clouds.yaml"])
        mine = self.mine.identity
        mine.delete_application_credential(self.mine.current_user_id, login[0])
        idle = self.watch(
            "the credential is deleted, and nothing changes",
            self._refusal(login),
            "",
            where="all",
            silent=_CHECK,
            entry="credential: Keystone refuses",
        )
        self.until_named(idle)
        busy = self._grow(2, "the credential is deleted", _REFUSED)
        self.magnum.rotate(self.uuid)
        self.look_at_all(self.name)
        self.finish(idle, busy, how=", with `openstack coe credential rotate`")
        self.complete("UPDATE")

    def _wrong_ca(self) -> None:
        """The certificate of Keystone is by another CA than the cluster's."""
        before = self._data()
        pki = programs.LAB / "pki"
        with _tls(pki / "tls.crt", pki / "tls.key") as port:
            # It has signed nothing.
            other = (pki / "admin.crt").read_bytes()
            self._set_login(f"https://127.0.0.1:{port}/v3", other)
            busy = self._grow(
                3,
                "the cluster's CA is a wrong one",
                r"CAs are not those of OpenStack's certificate: .*",
            )
            self._patch(before)
            programs.lab("restart", "capo")
            self.finish(busy)
        self.complete("UPDATE")

    def _grow(self, count: int, fault: str, reads: str) -> fault_case.Watch:
        """Grow while CAPO does not run, and let it run with the fault."""
        programs.lab("stop", "capo")
        self.addCleanup(programs.lab, "up")
        self.ask(self.uuid, count)
        said = self.mute(f"{self.name}-default-worker", _LOGIN)
        programs.lab("start", "capo")
        watch = self.watch(fault, said, reads, silent=_MUTE)
        self.until_named(watch, seconds=180)
        return watch

    def _refusal(self, login: tuple[str, str]) -> Callable[[], str]:
        """Give Keystone's words about a login."""

        def said() -> str:
            try:
                people.user_of(login)
            except (ka_exceptions.Unauthorized, ka_exceptions.NotFound) as e:
                return str(e.message)
            return ""

        return said

    def _data(self) -> dict[str, str]:
        found = self.plane.get(kinds.SECRET, self.namespace, self.secret)
        assert found is not None
        data: dict[str, str] = found["data"]
        return data

    def _patch(self, data: dict[str, str]) -> None:
        self.plane.patch(
            kinds.SECRET, self.namespace, self.secret, {"data": data}
        )

    def _set_login(self, url: str, ca: bytes) -> None:
        """Change the clouds.yaml with which CAPO logs in."""
        clouds = yaml.safe_load(base64.b64decode(self._data()["clouds.yaml"]))
        [cloud] = clouds["clouds"].values()
        cloud["auth"]["auth_url"] = url
        found = {"clouds.yaml": yaml.safe_dump(clouds).encode(), "cacert": ca}
        self._patch(
            {key: base64.b64encode(x).decode() for key, x in found.items()}
        )


@contextlib.contextmanager
def _tls(certificate: pathlib.Path, key: pathlib.Path) -> Iterator[int]:
    """Serve TLS, and give the port: no client comes beyond the handshake."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate, key)
    handler = socketserver.BaseRequestHandler
    with socketserver.TCPServer(("127.0.0.1", 0), handler) as server:
        server.socket = context.wrap_socket(server.socket, server_side=True)
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield int(server.server_address[1])
        server.shutdown()
