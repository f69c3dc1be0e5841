# SPDX-License-Identifier: Apache-2.0

"""Access rules: what a cluster may ask of OpenStack."""

from __future__ import annotations

import pathlib
from typing import Any

import yaml

from magnum_capi_helm.config import conf
from magnum_capi_helm.model import errors
from magnum_capi_helm.resolve import overlays

_KEYS = frozenset({"service", "method", "path"})
_OPTION = "[capi_helm] app_cred_access_rules"


def configured() -> tuple[dict[str, str], ...]:
    """The rules of the configured file; none: all is allowed.

    :raises NotConfigured: it can't be read, or is no list of rules
    """
    path = conf.CONF.capi_helm.app_cred_access_rules
    if not path:
        return ()
    try:
        found = yaml.safe_load(pathlib.Path(path).read_text())
    except OSError as error:
        raise errors.NotConfigured(
            f"{_OPTION} {path}: {error.strerror}"
        ) from error
    except overlays.NO_YAML as error:
        raise errors.NotConfigured(
            f"{_OPTION} {path} is neither YAML nor JSON"
        ) from error
    if not isinstance(found, list) or not found:
        raise errors.NotConfigured(f"{_OPTION} {path}: give a list")
    for number, rule in enumerate(found, 1):
        _check(f"{_OPTION} {path}: rule {number}", rule)
    return tuple(found)


def _check(where: str, rule: Any) -> None:
    if (
        not isinstance(rule, dict)
        or rule.keys() != _KEYS
        or not all(isinstance(value, str) for value in rule.values())
    ):
        raise errors.NotConfigured(
            f"{where}: give service, method and path, as text"
        )
