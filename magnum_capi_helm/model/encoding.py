# SPDX-License-Identifier: Apache-2.0

"""Encodings: JSON in base64, YAML objects, certificates, hidden secrets."""

from __future__ import annotations

import base64
from collections.abc import Mapping
import gzip
from importlib import resources
import json
import re
from typing import Any
import zlib

import yaml

#: Exceptions that damaged content, or content of another shape, may raise.
DAMAGED: tuple[type[Exception], ...] = (
    AttributeError,
    EOFError,
    KeyError,
    OSError,
    TypeError,
    ValueError,
    zlib.error,
)
#: Reads plain YAML; the one that is written in C is ten times as fast.
LOADER: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


def pack(content: Any) -> str:
    """Compress and encode content: Kubernetes limits the size of objects."""
    return encode(gzip.compress(_json(content), mtime=0))


def unpack(text: str | bytes) -> Any:
    """Decode the output of :func:`pack`.

    :raises Exception: one of :data:`DAMAGED`
    """
    return json.loads(gzip.decompress(base64.b64decode(text)))


def plain(content: Any) -> str:
    """Encode content without compression, so that people can read it."""
    return encode(_json(content))


def read_plain(text: str) -> Any:
    """Decode the output of :func:`plain`.

    :raises Exception: one of :data:`DAMAGED`
    """
    return json.loads(base64.b64decode(text))


def _json(content: Any) -> bytes:
    return json.dumps(content, sort_keys=True).encode()


def encode(content: bytes | str) -> str:
    """Return content in base64."""
    raw = content.encode() if isinstance(content, str) else content
    return base64.b64encode(raw).decode()


def secret(
    namespace: str,
    name: str,
    labels: Mapping[str, str],
    data: Mapping[str, str],
    **more: Any,
) -> dict[str, Any]:
    """Return a Secret to write.

    :param data: in base64, as in :func:`plain`
    :param more: other fields of the object
    """
    return {
        "metadata": {
            "name": name,
            "namespace": namespace,
            "labels": dict(labels),
        },
        "type": "Opaque",
        "data": dict(data),
        **more,
    }


def package_data(path: str) -> Any:
    """Return the content of a YAML file of this package.

    :param path: below the package
    """
    return document(package_text(path))


def package_text(path: str) -> str:
    """Return the text of a file of this package.

    :param path: below the package
    """
    file = resources.files("magnum_capi_helm") / path
    return file.read_text(encoding="utf-8")


def document(text: str | bytes) -> Any:
    """Return the content of a YAML text.

    :raises yaml.YAMLError: it is no YAML; the error quotes the text
    """
    return yaml.load(text, LOADER)  # noqa: S506 # nosec B506


def objects(text: str) -> tuple[dict[str, Any], ...]:
    """Return the Kubernetes objects of a YAML text.

    :raises yaml.YAMLError: it is no YAML; the error quotes the text
    """
    documents = yaml.load_all(text, LOADER)
    return tuple(each for each in documents if isinstance(each, dict))


_BEGIN = "-----BEGIN CERTIFICATE-----"
_END = "-----END CERTIFICATE-----"
_PEM = re.compile(f"{_BEGIN}(.+?){_END}", re.DOTALL)
#: The first byte of every certificate in DER.
_SEQUENCE = b"\x30"
_WIDTH = 64


def pem_certificates(text: str) -> list[str]:
    """Return the certificates of a text in normal form.

    They are not parsed, because bundles contain obsolete forms.

    :raises ValueError: there is none, or one that can't be decoded
    """
    certificates = readable_pem_certificates(text)
    if not certificates or len(certificates) < len(_PEM.findall(text)):
        raise ValueError("no certificates in PEM")
    return certificates


def readable_pem_certificates(text: str) -> list[str]:
    """Return the certificates of a text that can be decoded."""
    return [pem for body in _PEM.findall(text) if (pem := _normal_form(body))]


def _normal_form(body: str) -> str:
    """Return the PEM of one certificate; empty: it can't be decoded."""
    try:
        der = base64.b64decode("".join(body.split()), validate=True)
    except ValueError:
        return ""
    if not der.startswith(_SEQUENCE):
        return ""
    text = encode(der)
    lines = [text[at : at + _WIDTH] for at in range(0, len(text), _WIDTH)]
    return "\n".join([_BEGIN, *lines, _END, ""])


def join_pem_bundles(first: str, second: list[str]) -> str:
    """Append the certificates that a bundle does not have yet."""
    present = set(readable_pem_certificates(first))
    more = [each for each in dict.fromkeys(second) if each not in present]
    if not more:
        return first
    return "".join([first if first.endswith("\n") else f"{first}\n", *more])


#: Stands for a secret in values and objects that people read.
MASK = "(hidden)"

_SECRET_KEY = re.compile(
    r"password|passwd|secret$|token|private_?key|secret_?key|credentials?$",
    re.IGNORECASE,
)
#: Values that hold credentials whatever their keys are called.
_SECRET_VALUES = frozenset({"clouds"})
_USER_INFO = re.compile(r"://[^/@\s\"']*@")
#: A line of YAML or TOML in the text of a file, such as the key in the
#: configuration of encryption at rest.
_SECRET_LINE = re.compile(
    r"^(\s*-?\s*\"?(?:secret|password|token)\"?\s*[:=]\s*)\S.*$",
    re.IGNORECASE | re.MULTILINE,
)


def mask_values(content: Any) -> Any:
    """Return chart values without passwords; anything else stays as it is."""
    if isinstance(content, Mapping):
        return {key: _item(key, item) for key, item in content.items()}
    if isinstance(content, list):
        return [mask_values(item) for item in content]
    if isinstance(content, str):
        shown = _USER_INFO.sub(f"://{MASK}@", content)
        return _SECRET_LINE.sub(rf"\1{MASK}", shown)
    return content


def _item(key: object, item: Any) -> Any:
    name = str(key)
    if item in (None, "", {}, []) or isinstance(item, bool):
        return item
    if name in _SECRET_VALUES:
        return MASK
    if _SECRET_KEY.search(name) and not isinstance(item, (Mapping, list)):
        return MASK
    return mask_values(item)


def mask_manifest(item: Mapping[str, Any]) -> dict[str, Any]:
    """Return an object without secrets; of a Secret the keys alone."""
    shown: dict[str, Any] = mask_values(item)
    if item.get("kind") == "Secret":
        for part in ("data", "stringData"):
            if item.get(part):
                shown[part] = dict.fromkeys(item[part], MASK)
    return shown
