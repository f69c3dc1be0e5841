# SPDX-License-Identifier: Apache-2.0

"""What each version of the chart was tested with: ``versions.yaml``.

The driver, its documentation, DevStack and the installer of management
clusters all take the versions from that one file. It is a part of the program
like this module: nothing in it is taken for what it is not.
"""

from __future__ import annotations

from collections.abc import Mapping
import dataclasses
import functools
from importlib import resources
import itertools
import re
from typing import Any

import yaml

from magnum_capi_helm.model import errors

_FILE = "versions.yaml"
_VERSION = re.compile(r"\d+\.\d+\.\d+")
_MINOR = re.compile(r"\d+\.\d+")


@dataclasses.dataclass(frozen=True)
class Release:
    """What some versions of the chart were tested with, all of it together.

    :param charts: the versions of the chart
    :param cluster_api: version of Cluster API
    :param provider: version of Cluster API's OpenStack provider (CAPO)
    :param addons: version of the addon provider
    :param janitor: version of cluster-api-janitor-openstack
    :param cert_manager: version of cert-manager
    :param helm: version of helm
    :param kubernetes: first and last minor version of clusters
    :param resources: version of the OpenStack resource controller (ORC);
        empty where it is not needed
    """

    charts: tuple[str, ...]
    cluster_api: str
    provider: str
    addons: str
    janitor: str
    cert_manager: str
    helm: str
    kubernetes: tuple[str, str]
    resources: str = ""

    @property
    def needs(self) -> str:
        """What the management cluster has to have, in words."""
        parts = [
            f"Cluster API {self.cluster_api}",
            f"CAPO {self.provider}",
            f"addon provider {self.addons}",
            f"ORC {self.resources}" if self.resources else "",
            f"Kubernetes {'-'.join(self.kubernetes)}",
        ]
        return ", ".join(filter(None, parts))


_FIELDS = {each.name: each for each in dataclasses.fields(Release)}
_OPTIONAL = {"resources"}
#: Fields that are lists: what is in them, and how many of those.
_LISTS = {"charts": (_VERSION, None), "kubernetes": (_MINOR, 2)}


@functools.cache
def load() -> tuple[Release, ...]:
    """All of the file, the oldest first.

    :raises NotConfigured: somebody edited it, and it does not say what it has
        to
    """
    here = resources.files("magnum_capi_helm")
    return parse((here / _FILE).read_text(encoding="utf-8"))


def parse(text: str) -> tuple[Release, ...]:
    """Read such a file.

    :param text: YAML: a list of what :class:`Release` has
    :raises NotConfigured: the entry, the field, its value and what is allowed
    """
    try:
        found = yaml.safe_load(text)
    except yaml.YAMLError as error:
        raise errors.NotConfigured(f"{_FILE}: no YAML: {error}") from error
    if not isinstance(found, list) or not found:
        raise errors.NotConfigured(
            f"{_FILE} holds {errors.shown(found)}: give a list of entries"
        )
    releases = tuple(_release(*each) for each in enumerate(found, 1))
    _check_order(releases)
    return releases


def _release(number: int, entry: object) -> Release:
    where = f"{_FILE}, entry {number}"
    if not isinstance(entry, Mapping):
        raise errors.NotConfigured(
            f"{where} is {errors.shown(entry)}: give {_allowed()}"
        )
    unknown = sorted(map(str, entry.keys() - _FIELDS.keys()))
    if unknown:
        raise errors.NotConfigured(
            f"{where} has {', '.join(unknown)}: give {_allowed()}"
        )
    missing = sorted(_FIELDS.keys() - entry.keys() - _OPTIONAL)
    if missing:
        raise errors.NotConfigured(f"{where} lacks {', '.join(missing)}")
    values: dict[str, Any] = {
        name: _value(where, name, value) for name, value in entry.items()
    }
    return Release(**values)


def _allowed() -> str:
    return f"a mapping of {', '.join(_FIELDS)}"


def _value(where: str, name: str, value: object) -> str | tuple[str, ...]:
    """One field.

    YAML makes the number 1.3 of an unquoted 1.30: numbers are refused.
    """
    if name not in _LISTS:
        _check(where, name, value, _VERSION)
        return str(value)
    pattern, count = _LISTS[name]
    if not isinstance(value, list) or len(value) not in (
        {count} if count else range(1, 100)
    ):
        raise errors.NotConfigured(
            f"{where}: {name} is {errors.shown(value)}: give a list of "
            f"{count or 'one or more'} versions"
        )
    for each in value:
        _check(where, name, each, pattern)
    return tuple(value)


def _check(
    where: str, name: str, value: object, pattern: re.Pattern[str]
) -> None:
    if isinstance(value, str) and pattern.fullmatch(value):
        return
    example = "1.30" if pattern is _MINOR else "1.30.2"
    raise errors.NotConfigured(
        f"{where}: {name} has {errors.shown(value)}: give a version such "
        f'as "{example}", in quotes and without v'
    )


def _check_order(releases: tuple[Release, ...]) -> None:
    """No version of the chart is there twice, and the newest are last."""
    charts = [each for release in releases for each in release.charts]
    for before, after in itertools.pairwise(charts):
        if _number(after) <= _number(before):
            raise errors.NotConfigured(
                f"{_FILE}: charts has {after} after {before}: give each "
                "version once, the oldest first"
            )
    for release in releases:
        first, last = release.kubernetes
        if _number(last) < _number(first):
            raise errors.NotConfigured(
                f"{_FILE}: kubernetes of chart {release.charts[0]} is "
                f"{first} to {last}: give the oldest first"
            )


def _number(version: str) -> tuple[int, ...]:
    return tuple(map(int, version.split(".")))
