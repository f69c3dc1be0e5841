# SPDX-License-Identifier: Apache-2.0

"""Read a kubeconfig: check it, take its current context, keep keys off disk.

pykube-ng would write inline keys world-readable into the system's temporary
directory, under a predictable name. Here they go to files in memory
(:class:`MemoryFiles`).
"""

from __future__ import annotations

import base64
import binascii
from collections.abc import Collection, Iterable, Iterator, Mapping
import contextlib
import dataclasses
import json
import os
import pathlib
from typing import Any
import urllib.parse
import weakref

from cryptography import x509
import yaml

from magnum_capi_helm.model import encoding
from magnum_capi_helm.model import errors

#: Option with the path of the kubeconfig, unless there are several.
OPTION = "[capi_helm] kubeconfig_file"

BEARER = "token"
CERTIFICATE = "client certificate"

_PATHS = ("certificate-authority", "client-certificate", "client-key")
_TEXT = (str, "text")
_MAPPING = (dict, "a mapping")
#: Fields that this module and pykube-ng read of each entry.
_FIELDS: dict[str, dict[str, tuple[type, str]]] = {
    "cluster": {
        "server": _TEXT,
        "certificate-authority": _TEXT,
        "certificate-authority-data": _TEXT,
        "proxy-url": _TEXT,
    },
    "user": {
        "client-certificate": _TEXT,
        "client-certificate-data": _TEXT,
        "client-key": _TEXT,
        "client-key-data": _TEXT,
        "tokenFile": _TEXT,
        "exec": _MAPPING,
        "auth-provider": _MAPPING,
    },
    "context": {"cluster": _TEXT, "user": _TEXT},
}


class PluginError(Exception):
    """The ``exec`` plugin returned no credential; its stderr is in the log."""


class MemoryFiles:
    """Files in memory, which the kernel removes with the process.

    TLS libraries read certificates and keys only from files. A file in a
    directory would remain after a process is killed. These files
    (memfd_create(2)) have no name in any directory, and only processes of the
    same user can open them, by their number here.
    """

    _FOLDER = "/proc/self/fd/"

    def __init__(self) -> None:
        self._open: set[int] = set()
        weakref.finalize(self, _close, self._open)

    def write(self, name: str, content: bytes) -> str:
        """Make a file and return its path.

        :param name: shown by tools that inspect the process; not in the path
        """
        # Closed on exec: neither helm nor a plugin inherits it.
        number = os.memfd_create(name)
        self._open.add(number)
        os.fchmod(number, 0o600)
        with open(number, "wb", closefd=False) as target:
            target.write(content)
        return f"{self._FOLDER}{number}"

    def forget(self, paths: Collection[str]) -> None:
        """Close those of the paths that are files of this object.

        A later file may get the same path.
        """
        closed = {
            each for each in self._open if f"{self._FOLDER}{each}" in paths
        }
        self._open -= closed
        _close(closed)


def _close(numbers: Iterable[int]) -> None:
    for each in numbers:
        os.close(each)


@dataclasses.dataclass(frozen=True)
class Kubeconfig:
    """The current context of a kubeconfig.

    :param cluster: fields of the cluster, with paths instead of inline data
    :param user: the same of the user
    :param files: certificates and keys that are files of their own
    """

    cluster: dict[str, Any]
    user: dict[str, Any]
    files: tuple[str, ...]


def read(path: str, memory: MemoryFiles, option: str = OPTION) -> Kubeconfig:
    """Read the current context of a kubeconfig.

    Files that other contexts name may be missing on this host.

    :param memory: gets inline certificates and keys
    :param option: names the option with the path in messages
    :raises NotConfigured: the kubeconfig, or a file that it names, can't be
        used
    """
    document = _load(path, option)
    context = _named(document, "context", document.get("current-context"))
    cluster = _named(document, "cluster", (context or {}).get("cluster"))
    if context is None or cluster is None:
        raise errors.NotConfigured(
            f"the kubeconfig {path} does not say which cluster and user to "
            "take: set its current-context"
        )
    user = _named(document, "user", context.get("user")) or {}
    files = [*_used_files(cluster, path, memory)]
    files += _used_files(user, path, memory)
    if not _is_url(cluster.get("server", "http://localhost")):
        # Not shown: the URL may contain a password.
        raise errors.NotConfigured(
            f"the kubeconfig {path}: its cluster's server is no URL: "
            "give one such as https://api.example.org:6443"
        )
    return Kubeconfig(cluster, user, tuple(files))


def _load(path: str, option: str) -> dict[str, Any]:
    hint = f"set {option} to a kubeconfig of the management cluster"
    try:
        document = yaml.safe_load(pathlib.Path(path).read_text())
    except FileNotFoundError as error:
        raise errors.NotConfigured(
            f"no kubeconfig at {path}: {hint}"
        ) from error
    except (OSError, ValueError, yaml.YAMLError) as error:
        if isinstance(error, PermissionError):
            hint = "let magnum-conductor's user read it, and be that user"
        # Not chained: YAML errors quote the document, which contains keys.
        raise errors.NotConfigured(
            f"the kubeconfig {path} can't be read "
            f"({type(error).__name__}): {hint}"
        ) from None
    if not isinstance(document, dict) or not all(
        _are_mappings(document.get(key)) for key in ("clusters", "users")
    ):
        raise errors.NotConfigured(f"{path} is not a kubeconfig: {hint}")
    if problem := next(_problems(document), ""):
        raise errors.NotConfigured(f"the kubeconfig {path}: {problem}")
    return document


def _named(
    document: dict[str, Any], kind: str, name: object
) -> dict[str, Any] | None:
    """Return the fields of the last entry of that name, as pykube-ng does."""
    for entry in reversed(document.get(f"{kind}s") or []):
        if name and entry.get("name") == name:
            body: dict[str, Any] | None = entry.get(kind)
            return body
    return None


def _used_files(
    body: dict[str, Any], path: str, memory: MemoryFiles
) -> Iterator[str]:
    """Make paths absolute, move inline data to memory; yield the paths.

    :param body: fields of a cluster or a user
    """
    # Absolute: "./plugin" beside a relative path would become a bare name.
    folder = pathlib.Path(path).parent.absolute()
    for field in _PATHS:
        if data := body.pop(f"{field}-data", None):
            try:
                content = base64.b64decode(data, validate=False)
            except (binascii.Error, ValueError) as error:
                raise errors.NotConfigured(
                    f"the kubeconfig's {field}-data is not base64"
                ) from error
            body[field] = memory.write(field, content)
        elif body.get(field):
            body[field] = str(folder / body[field])
            check_readable(body, field, path)
            yield body[field]
    if token_file := body.get("tokenFile"):
        body["tokenFile"] = str(folder / token_file)
    plugin = body.get("exec")
    # A bare name is searched in PATH, as kubectl does.
    if plugin and "/" in str(plugin.get("command")):
        plugin["command"] = str(folder / str(plugin["command"]))


def check_readable(body: Mapping[str, Any], field: str, path: str) -> None:
    """Check that the file that a field names can be read, if it names one.

    :param body: fields of a cluster or a user
    :raises NotConfigured: the file is missing or can't be read
    """
    if file := body.get(field):
        with errors.reading(f"the kubeconfig {path}: {field} {file}"):
            open(file, "rb").close()


@dataclasses.dataclass(frozen=True)
class Expiry:
    """The time at which a credential of a kubeconfig's user expires.

    :param credential: :data:`BEARER` or :data:`CERTIFICATE`
    :param time: seconds since 1970
    """

    credential: str
    time: float


def expiries(user: Mapping[str, Any]) -> tuple[Expiry, ...]:
    """Return when the credentials of a kubeconfig's user expire.

    Nothing is verified. A credential that can't be read has no known expiry.

    :param user: with paths instead of inline certificates
    """
    result = []
    if path := user.get("client-certificate"):
        with contextlib.suppress(ValueError):
            result.append(Expiry(CERTIFICATE, _first_expiry(_read(path))))
    token = str(user.get("token") or "").encode()
    if path := user.get("tokenFile"):
        token = _read(path)
    with contextlib.suppress(ValueError, KeyError, TypeError):
        result.append(Expiry(BEARER, _token_expiry(token.strip())))
    return tuple(result)


def _read(path: str) -> bytes:
    try:
        return pathlib.Path(path).read_bytes()
    except OSError:
        return b""


def _first_expiry(pem: bytes) -> float:
    """Return when the first of some certificates expires.

    :raises ValueError: it is no certificate
    """
    return min(
        each.not_valid_after_utc.timestamp()
        for each in x509.load_pem_x509_certificates(pem)
    )


def _token_expiry(token: bytes) -> float:
    """Return the claim ``exp`` of a JSON web token.

    :raises ValueError: it is another token
    :raises KeyError: it does not expire
    """
    _, payload, _ = token.split(b".")
    padded = payload + b"=" * (-len(payload) % 4)
    return float(json.loads(base64.urlsafe_b64decode(padded))["exp"])


def _problems(document: dict[str, Any]) -> Iterator[str]:
    """Yield the fields with a wrong type, without their values."""
    if not isinstance(document.get("current-context") or "", str):
        yield "current-context is not allowed: give the name of a context"
    for kind, fields in _FIELDS.items():
        entries = document.get(f"{kind}s") or []
        if not _are_mappings(entries):
            yield f"{kind}s is not allowed: give a list of mappings"
            continue
        for entry in entries:
            body = entry.get(kind) or {}
            where = f"{kind} {errors.shown(entry.get('name'))}"
            if not isinstance(body, dict):
                yield f"{where} is not allowed: give a mapping"
                continue
            for name, (allowed, words) in fields.items():
                if not isinstance(body.get(name) or allowed(), allowed):
                    yield f"{where}: {name} is not allowed: give {words}"


def _are_mappings(entries: object) -> bool:
    return isinstance(entries, list) and all(
        isinstance(each, dict) for each in entries
    )


def _is_url(text: object) -> bool:
    try:
        url = urllib.parse.urlsplit(str(text))
        # The port is parsed when it is read.
        return bool(
            url.scheme in ("http", "https") and url.hostname and url.port != 0
        )
    except ValueError:
        return False


@dataclasses.dataclass(frozen=True)
class Administrator:
    """The administrator's credential of a workload cluster, in PEM.

    :param ca: the CAs that the Kubernetes API's certificate may come from
    :param expires: when the certificate expires, in seconds since 1970
    :param ca_expires: when the first of the CAs expires
    """

    ca: str
    certificate: str
    key: str = dataclasses.field(repr=False)
    expires: float
    ca_expires: float


def administrator(secret: Mapping[str, Any]) -> Administrator:
    """Return the credential in the Secret ``<release>-kubeconfig``.

    :raises ManagementError: it has none; nothing of it is quoted
    """
    try:
        document = yaml.safe_load(base64.b64decode(secret["data"]["value"]))
        cluster = document["clusters"][0]["cluster"]
        user = document["users"][0]["user"]
        ca = base64.b64decode(cluster["certificate-authority-data"])
        certificate = base64.b64decode(user["client-certificate-data"])
        key = base64.b64decode(user["client-key-data"])
        return Administrator(
            ca=ca.decode("ascii"),
            certificate=certificate.decode("ascii"),
            key=key.decode("ascii"),
            expires=_first_expiry(certificate),
            ca_expires=_first_expiry(ca),
        )
    except (*encoding.DAMAGED, IndexError, yaml.YAMLError) as error:
        # Not chained: a YAML error quotes the file, and its key.
        raise errors.ManagementError(
            f"the Secret {secret['metadata']['name']} has no kubeconfig with "
            f"certificates ({type(error).__name__})"
        ) from None
