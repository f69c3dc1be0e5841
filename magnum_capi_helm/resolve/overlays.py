# SPDX-License-Identifier: Apache-2.0

"""The operator's files of chart values, and the profiles among them.

They are read when a cluster is created, upgraded, or rolled out to by an
operator. What is stored then is the outcome, so a file that changes later
never reaches a living cluster through a mere resize.
"""

from __future__ import annotations

import math
import pathlib
from typing import Any

import yaml

from magnum_capi_helm.chart import overlays
from magnum_capi_helm.config import conf
from magnum_capi_helm.features import profiles
from magnum_capi_helm.features import topic
from magnum_capi_helm.model import errors
from magnum_capi_helm.model import labels

#: Bytes of one file. All values of a cluster have to fit into one Secret.
LIMIT = 256 * 1024

_SUFFIX = ".yaml"
#: Deeper is only what contains itself.
_DEPTH = 64


def apply(
    values: topic.Values, found: labels.Values, *, again: bool = False
) -> topic.Values:
    """The values that helm gets: files for all first, then the profiles.

    :param found: the cluster's labels
    :param again: the values had them, or former ones, before
    :raises LabelError: there is no such profile
    :raises NotConfigured: a file can't be read, or says what it must not
    """
    lay = overlays.again if again else overlays.apply
    for path in conf.CONF.capi_helm.values_files:
        origin = f"[capi_helm] values_files {path}"
        values = lay(values, read(path, origin), origin)
    if names := found[profiles.NAMES]:
        known = _profiles()
        for name in names:
            if name not in known:
                raise found.refused(profiles.NAMES, *_choice(list(known)))
            origin = f"values profile {name}"
            overlay = read(known[name], origin)
            values = lay(values, overlay, origin)
    return values


def read(path: str | pathlib.Path, origin: str) -> dict[str, Any]:
    """A YAML file with a mapping that JSON can hold; an empty one is empty.

    :param origin: what the file is, for the message
    :raises NotConfigured: it can't be read, or holds something else; never
        with its content
    """
    try:
        with open(path, "rb") as source:
            text = source.read(LIMIT + 1)
        if len(text) > LIMIT:
            raise _Unusable(f"is larger than {LIMIT // 1024} KiB")
        # Its loader is one of yaml's safe ones.
        document = yaml.load(text.decode(), _Loader)  # noqa: S506  # nosec
        _check(document, 0)
    except OSError as error:
        raise errors.NotConfigured(f"{origin}: {error.strerror}") from error
    except _Unusable as error:
        raise errors.NotConfigured(f"{origin}: {error}") from error
    except NO_YAML as error:
        # Not chained: the texts of these quote the document.
        raise errors.NotConfigured(
            f"{origin}: is no YAML{_line(error)}"
        ) from None
    if document is None:
        return {}
    if not isinstance(document, dict):
        raise errors.NotConfigured(f"{origin}: must be a mapping")
    return document


def _profiles() -> dict[str, pathlib.Path]:
    """Name -> file, of all that the operator has."""
    directory = conf.CONF.capi_helm.values_profile_dir
    if not directory:
        return {}
    try:
        files = sorted(pathlib.Path(directory).iterdir())
    except OSError as error:
        raise errors.NotConfigured(
            f"[capi_helm] values_profile_dir {directory}: {error.strerror}"
        ) from error
    return {
        path.stem: path
        for path in files
        if path.suffix == _SUFFIX and profiles.is_name(path.stem)
    }


def _choice(known: list[str]) -> tuple[str, str]:
    """What is allowed, and the names of the profiles."""
    if not known:
        return "none, for the operator keeps no profiles", ""
    return "names of the operator's profiles", f"they are {', '.join(known)}"


class _Unusable(Exception):
    """YAML all right, but no values."""


#: What reading raises; for a tag such as !!bool whatever comes of its text.
NO_YAML = (
    yaml.YAMLError,
    AttributeError,
    LookupError,
    RecursionError,
    TypeError,
    ValueError,
)


class _Loader(yaml.SafeLoader):  # type: ignore[misc]
    """What helm takes: a date is text, and a key is there once."""

    def construct_mapping(
        self, node: yaml.MappingNode, deep: bool = False
    ) -> dict[Any, Any]:
        seen = set()
        for key, _ in node.value:
            name = str(key.value)
            if name in seen:
                line = key.start_mark.line + 1
                raise _Unusable(f"has a key in line {line} a second time")
            seen.add(name)
        found: dict[Any, Any] = super().construct_mapping(node, deep)
        return found


_Loader.yaml_implicit_resolvers = {
    first: [each for each in found if each[0] != "tag:yaml.org,2002:timestamp"]
    for first, found in yaml.SafeLoader.yaml_implicit_resolvers.items()
}


def _line(error: Exception) -> str:
    mark = getattr(error, "problem_mark", None)
    return f" in line {mark.line + 1}" if mark else ""


def _check(value: object, depth: int) -> None:
    """Refuse what JSON has no word for; say what, without the value."""
    if depth > _DEPTH:
        raise _Unusable("is nested too deep")
    if isinstance(value, dict):
        if not all(isinstance(key, str) for key in value):
            raise _Unusable("has a key that is no text: quote it")
        value = list(value.values())
    if isinstance(value, list):
        for each in value:
            _check(each, depth + 1)
    elif isinstance(value, float) and not math.isfinite(value):
        raise _Unusable("has a number that is not finite")
    elif not isinstance(value, str | int | float | None):
        raise _Unusable(f"has a {type(value).__name__}, which helm can't use")
