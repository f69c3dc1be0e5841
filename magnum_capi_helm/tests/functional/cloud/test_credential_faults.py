# SPDX-License-Identifier: Apache-2.0

"""Users read that CAPO can't log in: it tells so in its log alone.

CAPO keeps a token for as long as that is valid, so the tests restart CAPO.
"""

from __future__ import annotations

import base64
from collections.abc import Callable, Iterator
import contextlib
import datetime
import pathlib
import socketserver
import ssl
import threading
from typing import Any

from keystoneauth1 import exceptions as ka_exceptions
import yaml

from lab import faults
from magnum_capi_helm.kubernetes import kinds
from magnum_capi_helm.model import names
from magnum_capi_helm.tests.functional import magnum_api
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
        self._expired()
        self._disabled_project()
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
        self._rotate()
        self.finish(idle, busy, how=", with `openstack coe credential rotate`")
        self.complete("UPDATE")

    def _expired(self) -> None:
        end = datetime.datetime.now(datetime.UTC) + datetime.timedelta(0, 5)
        made = self.mine.identity.create_application_credential(
            self.mine.current_user_id,
            self.unique("short"),
            expires_at=end.strftime("%Y-%m-%dT%H:%M:%S.000000"),
        )
        login = made.id, made.secret
        self._set_login(
            application_credential_id=made.id,
            application_credential_secret=made.secret,
        )
        self.until(self._refusal(login), 60)
        busy = self._grow(3, "the credential has expired", _REFUSED)
        self._rotate()
        self.finish(busy, how=", with `openstack coe credential rotate`")
        self.complete("UPDATE")

    def _disabled_project(self) -> None:
        admin: Any = faults.connect()
        project = self.mine.current_project_id
        self.addCleanup(admin.identity.update_project, project, enabled=True)
        user, self.magnum = (
            self.magnum,
            magnum_api.Magnum(magnum_api.keystone_session("admin")),
        )
        busy = self._grow(
            4,
            "the project is disabled",
            _REFUSED,
            lambda: admin.identity.update_project(project, enabled=False),
            user,
        )
        admin.identity.update_project(project, enabled=True)
        self.look_at_all(self.name)
        self.finish(busy)
        self.magnum = user
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
                5,
                "the cluster's CA is a wrong one",
                r"CAs are not those of OpenStack's certificate: .*",
            )
            self._patch(before)
            self._restart_capo()
            self.finish(busy)
        self.complete("UPDATE")

    def _grow(
        self,
        count: int,
        fault: str,
        reads: str,
        begin: Callable[[], Any] = lambda: None,
        magnum: magnum_api.Magnum | None = None,
    ) -> fault_case.Watch:
        """Grow while CAPO does not run, and let it run with the fault."""
        programs.lab("stop", "capo")
        self.addCleanup(programs.lab, "up")
        viewer, self.magnum = self.magnum, magnum or self.magnum
        self.ask(self.uuid, count)
        self.magnum = viewer
        begin()
        said = self.mute(f"{self.name}-default-worker", _LOGIN)
        programs.lab("start", "capo")
        watch = self.watch(fault, said, reads, silent=_MUTE)
        self.until_named(watch, seconds=180)
        return watch

    def _restart_capo(self) -> None:
        programs.lab("restart", "capo")

    def _refusal(self, login: tuple[str, str]) -> Callable[[], str]:
        """Give Keystone's words about a login."""

        def said() -> str:
            try:
                people.user_of(login)
            except (ka_exceptions.Unauthorized, ka_exceptions.NotFound) as e:
                return str(e.message)
            return ""

        return said

    def _rotate(self) -> None:
        self.magnum.session.request(
            f"/credentials/{self.uuid}",
            "PATCH",
            endpoint_filter={"service_type": "container-infra"},
            headers={"OpenStack-API-Version": people.ROTATION},
        )
        self.look_at_all(self.name)

    def _data(self) -> dict[str, str]:
        found = self.plane.get(kinds.SECRET, self.namespace, self.secret)
        assert found is not None
        data: dict[str, str] = found["data"]
        return data

    def _patch(self, data: dict[str, str]) -> None:
        self.plane.patch(
            kinds.SECRET, self.namespace, self.secret, {"data": data}
        )

    def _set_login(self, url: str = "", ca: bytes = b"", **auth: str) -> None:
        """Change the clouds.yaml with which CAPO logs in."""
        clouds = yaml.safe_load(base64.b64decode(self._data()["clouds.yaml"]))
        [cloud] = clouds["clouds"].values()
        cloud["auth"] |= auth
        if url:
            cloud["auth"]["auth_url"] = url
        content = base64.b64encode(yaml.safe_dump(clouds).encode()).decode()
        data = {"clouds.yaml": content}
        if ca:
            data["cacert"] = base64.b64encode(ca).decode()
        self._patch(data)


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
