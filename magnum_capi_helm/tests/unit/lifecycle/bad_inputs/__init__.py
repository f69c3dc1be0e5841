# SPDX-License-Identifier: Apache-2.0

"""Requests that are refused, each with the one line that says why.

A module for each reason; its tables are: what is wrong -> the request.
"""

from __future__ import annotations

from collections.abc import Mapping
import dataclasses
from typing import Any, TypeAlias


@dataclasses.dataclass(frozen=True)
class Input:
    """A cluster or nodegroup that differs from one that works.

    :param refusal: the whole status_reason
    :param labels: of the cluster or nodegroup
    :param fields: of the cluster or nodegroup
    :param template: fields of the cluster template
    :param chart: version that the template asks for; empty: the default
    :param masters: machines of the control plane
    :param options: of ``[capi_helm]``
    """

    refusal: str
    labels: Mapping[str, str] = dataclasses.field(default_factory=dict)
    fields: Mapping[str, Any] = dataclasses.field(default_factory=dict)
    template: Mapping[str, Any] = dataclasses.field(default_factory=dict)
    chart: str = ""
    masters: int = 1
    options: Mapping[str, Any] = dataclasses.field(default_factory=dict)


Table: TypeAlias = dict[str, Input]
