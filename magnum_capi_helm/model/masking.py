# SPDX-License-Identifier: Apache-2.0

"""Hide the secrets of values and objects that are shown to people."""

from __future__ import annotations

from collections.abc import Mapping
import re
from typing import Any

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


def values(content: Any) -> Any:
    """Return chart values without passwords; anything else stays as it is."""
    if isinstance(content, Mapping):
        return {key: _item(key, item) for key, item in content.items()}
    if isinstance(content, list):
        return [values(item) for item in content]
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
    return values(item)


def manifest(item: Mapping[str, Any]) -> dict[str, Any]:
    """Return an object without secrets; of a Secret the keys alone."""
    shown: dict[str, Any] = values(item)
    if item.get("kind") == "Secret":
        for part in ("data", "stringData"):
            if item.get(part):
                shown[part] = dict.fromkeys(item[part], MASK)
    return shown
