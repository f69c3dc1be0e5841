# SPDX-License-Identifier: Apache-2.0

"""No user's text is a template on the management cluster.

The addon provider runs the values and manifests of addons through Jinja2, on
the management cluster and without a sandbox (cluster-api-addon-provider,
``template.py``). What comes from labels must not reach it as code.
"""

from __future__ import annotations

from collections.abc import Mapping
import re
from typing import Any

from magnum_capi_helm.model import errors

_OPENING = re.compile(r"\{[{%#]")


def refuse(values: Any, path: str) -> None:
    """Refuse text that Jinja2 would take for more than text.

    :param path: where the values are, for the message
    :raises InvalidInput: with the path and the text
    """
    if isinstance(values, Mapping):
        for key, item in values.items():
            refuse(str(key), path)
            refuse(item, f"{path}.{key}")
    elif isinstance(values, list):
        for item in values:
            refuse(item, path)
    elif isinstance(values, str) and _OPENING.search(values):
        raise errors.InvalidInput(
            "give text without {{, {% and {# in values of addons. It is "
            f"{path}={values!r}"
        )
