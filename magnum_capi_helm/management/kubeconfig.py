# SPDX-License-Identifier: Apache-2.0

"""The kubeconfig as the API client needs it: no key material on disk.

pykube-ng would write inline keys world-readable into the system's temporary
directory, under a name that anybody can guess. Here they go to files with
mode 0600 in a directory of their own with mode 0700.
"""

from __future__ import annotations

import base64
import binascii
from collections.abc import Iterator
import copy
import pathlib
from typing import Any

import yaml

from magnum_capi_helm.management import memory_files
from magnum_capi_helm.model import errors

#: Where a kubeconfig is configured, unless it is one of several.
OPTION = "[capi_helm] kubeconfig_file"

_PATHS = ("certificate-authority", "client-certificate", "client-key")
_TEXT = (str, "text")
_MAPPING = (dict, "a mapping")
#: What this module and pykube-ng read of each entry.
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


def load(path: str, option: str = OPTION) -> dict[str, Any]:
    """The document, with relative paths made absolute.

    :param option: where the path is configured, to say so
    :raises NotConfigured: the file is missing, unreadable or no kubeconfig
    """
    file = pathlib.Path(path)
    hint = f"set {option} to a kubeconfig of the management"
    try:
        document = yaml.safe_load(file.read_text())
    except FileNotFoundError as error:
        raise errors.NotConfigured(
            f"no kubeconfig at {path}: {hint} cluster"
        ) from error
    except (OSError, ValueError, yaml.YAMLError) as error:
        # Not chained: YAML errors quote the document, and that holds keys.
        raise errors.NotConfigured(
            f"the kubeconfig {path} can't be read "
            f"({type(error).__name__}): {hint} cluster"
        ) from None
    if not isinstance(document, dict) or not all(
        _are_mappings(document.get(key)) for key in ("clusters", "users")
    ):
        raise errors.NotConfigured(
            f"{path} is not a kubeconfig: {hint} cluster"
        )
    if wrong := next(_wrong(document), ""):
        raise errors.NotConfigured(f"the kubeconfig {path}: {wrong}")
    # Absolute: "./plugin" beside a relative path would become a bare name.
    folder = file.parent.absolute()
    for body in _bodies(document):
        for key in (*_PATHS, "tokenFile"):
            if value := body.get(key):
                body[key] = str(folder / value)
        plugin = body.get("exec")
        # A bare name is looked for in PATH, as kubectl does.
        if isinstance(plugin, dict) and "/" in str(plugin.get("command")):
            plugin["command"] = str(folder / str(plugin["command"]))
    return document


def files_of(document: dict[str, Any]) -> tuple[str, ...]:
    """Files of certificates and keys that a kubeconfig names."""
    return tuple(
        body[key]
        for body in _bodies(document)
        for key in _PATHS
        if body.get(key) and not body.get(f"{key}-data")
    )


def externalise(
    document: dict[str, Any], files: memory_files.Files
) -> dict[str, Any]:
    """A copy whose inline certificates and keys are among ``files``.

    :raises NotConfigured: a ``*-data`` value is not base64
    """
    document = copy.deepcopy(document)
    for body in _bodies(document):
        for key in _PATHS:
            data = body.pop(f"{key}-data", None)
            if not data:
                continue
            try:
                content = base64.b64decode(data, validate=False)
            except (binascii.Error, ValueError) as error:
                raise errors.NotConfigured(
                    f"the kubeconfig's {key}-data is not base64"
                ) from error
            body[key] = files.write(key, content)
    return document


def _wrong(document: dict[str, Any]) -> Iterator[str]:
    """What is of another type than Kubernetes has it, without its value."""
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


def _bodies(document: dict[str, Any]) -> list[dict[str, Any]]:
    return [
        entry[kind]
        for kind in ("cluster", "user")
        for entry in document.get(f"{kind}s") or []
        if isinstance(entry.get(kind), dict)
    ]
