# Licensed under the Apache License, Version 2.0 (the "License"); you may
# not use this file except in compliance with the License. You may obtain
# a copy of the License at
#
#      http://www.apache.org/licenses/LICENSE-2.0
#
# Unless required by applicable law or agreed to in writing, software
# distributed under the License is distributed on an "AS IS" BASIS, WITHOUT
# WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the
# License for the specific language governing permissions and limitations
# under the License.

"""The kubeconfig as the API client needs it: no key material on disk.

pykube-ng would write inline keys world-readable into the system's temporary
directory, under a name that anybody can guess. Here they go to files with
mode 0600 in a directory of their own with mode 0700.
"""

from __future__ import annotations

import base64
import binascii
import copy
import pathlib
from typing import Any

import yaml

from magnum_capi_helm import exceptions
from magnum_capi_helm.management import memory_files

#: Where a kubeconfig is configured, unless it is one of several.
OPTION = "[capi_helm] kubeconfig_file"

_PATHS = ("certificate-authority", "client-certificate", "client-key")


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
        raise exceptions.NotConfigured(
            f"no kubeconfig at {path}: {hint} cluster"
        ) from error
    except (OSError, UnicodeDecodeError, yaml.YAMLError) as error:
        # YAML errors quote the document, and that holds keys.
        raise exceptions.NotConfigured(
            f"the kubeconfig {path} can't be read "
            f"({type(error).__name__}): {hint} cluster"
        ) from error
    if not isinstance(document, dict) or not all(
        isinstance(document.get(key), list) for key in ("clusters", "users")
    ):
        raise exceptions.NotConfigured(
            f"{path} is not a kubeconfig: {hint} cluster"
        )
    for body in _bodies(document):
        for key in (*_PATHS, "tokenFile"):
            if value := body.get(key):
                body[key] = str(file.parent / value)
    return document


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
                raise exceptions.NotConfigured(
                    f"the kubeconfig's {key}-data is not base64"
                ) from error
            body[key] = files.write(key, content)
    return document


def _bodies(document: dict[str, Any]) -> list[dict[str, Any]]:
    return [
        entry[kind]
        for kind in ("cluster", "user")
        for entry in document.get(f"{kind}s") or []
        if isinstance(entry.get(kind), dict)
    ]
