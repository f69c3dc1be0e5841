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

"""Magnum labels as declarations.

A :class:`Label` owns its name, type, default, aliases and help. From that
one declaration come the option in ``[capi_helm_cluster_labels]``, the
validation, the row in the label reference and the value that a topic of
:mod:`magnum_capi_helm.features` reads.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
import dataclasses
import enum
from typing import Any, Generic, TypeVar

from magnum_capi_helm import exceptions

T = TypeVar("T")


class Scope(enum.Enum):
    """Where a label is read."""

    TEMPLATE = "template"
    CLUSTER = "cluster"


@dataclasses.dataclass(frozen=True)
class Label(Generic[T]):
    """One label.

    :param name: name of the label and of its option
    :param type: an oslo.config type: parses a string or raises ValueError
    :param default: value when nobody sets the label or the option
    :param allowed: what is allowed, for the error message and the docs
    :param help: what the label does
    :param scope: where it is read
    :param aliases: other names of the same label, weaker than ``name``
    :param former: names of the option in ``[capi_helm]`` (deprecated)
    """

    name: str
    type: Callable[[str], Any] = dataclasses.field(compare=False, repr=False)
    default: T = dataclasses.field(compare=False)
    allowed: str = dataclasses.field(compare=False)
    help: str = dataclasses.field(compare=False, repr=False)
    scope: Scope = dataclasses.field(default=Scope.CLUSTER, compare=False)
    aliases: tuple[str, ...] = dataclasses.field(default=(), compare=False)
    former: tuple[str, ...] = dataclasses.field(default=(), compare=False)

    def parse(self, value: str, name: str | None = None) -> T:
        """``value`` in this label's type.

        :raises LabelError: naming the label, the value and what is allowed
        """
        try:
            parsed: T = self.type(value)
        except (ValueError, TypeError) as error:
            raise exceptions.LabelError(
                name or self.name, value, self.allowed
            ) from error
        return parsed


class Values:
    """The parsed labels of one cluster: ``values[LABEL]`` has its type."""

    def __init__(self, values: Mapping[str, Any]) -> None:
        self._values = dict(values)

    def __getitem__(self, label: Label[T]) -> T:
        value: T = self._values.get(label.name, label.default)
        return value

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Values) and self._values == other._values

    def __hash__(self) -> int:
        return hash(tuple(sorted(map(repr, self._values.items()))))

    def __repr__(self) -> str:
        return f"Values({self._values!r})"


def resolve(
    declared: Iterable[Label[Any]],
    sources: Mapping[Scope, Sequence[Mapping[str, str]]],
    defaults: Mapping[str, Any],
) -> Values:
    """The value of each declared label.

    :param sources: per scope, label dictionaries, the strongest first
    :param defaults: the operator's options, already of the right type
    :raises LabelError: for the first value that is not allowed
    """
    found: dict[str, Any] = {}
    for label in declared:
        given = _first(label, sources[label.scope])
        if given is not None:
            name, text = given
            found[label.name] = label.parse(text, name)
        elif label.name in defaults:
            found[label.name] = defaults[label.name]
    return Values(found)


def _first(
    label: Label[Any], sources: Sequence[Mapping[str, str]]
) -> tuple[str, str] | None:
    """The strongest setting: a label beats its aliases in each source."""
    for source in sources:
        for name in (label.name, *label.aliases):
            if name in source:
                return name, source[name]
    return None
