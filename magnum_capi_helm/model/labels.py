# SPDX-License-Identifier: Apache-2.0

"""Magnum labels as declarations.

A :class:`Label` owns its name, type, default, aliases and help. From that
one declaration come the option in ``[capi_helm_cluster_labels]``, the
validation, the row in the label reference and the value that a topic of
:mod:`magnum_capi_helm.features` reads.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
import dataclasses
import enum
from typing import Any, Generic, TypeVar

from oslo_config import types

from magnum_capi_helm.model import chart_versions
from magnum_capi_helm.model import errors

T = TypeVar("T")


class Reason(ValueError):
    """What is wrong with a value, in words that help a user.

    A type raises it where what is allowed does not say enough.
    """


class Scope(enum.Enum):
    """Where a label is read; each scope includes those before it."""

    TEMPLATE = "template"
    CLUSTER = "cluster"
    NODEGROUP = "nodegroup"


@dataclasses.dataclass(frozen=True)
class Label(Generic[T]):
    """One label.

    :param name: name of the label and of its option
    :param type: an oslo.config type: parses a string or raises ValueError
    :param default: value when nobody sets the label or the option
    :param allowed: what is allowed, for the error message and the docs;
        without a full stop, at which Magnum's API cuts
    :param details: more of what is allowed, such as an example
    :param help: what the label does
    :param scope: the narrowest place where it is read
    :param aliases: other names of the same label, weaker than ``name``
    :param former: names of the option in ``[capi_helm]`` (deprecated)
    :param becomes: paths of the chart values that it changes
    :param charts: chart versions on which it has an effect; on others a
        value that differs from the default is refused
    :param harmless: where it has no effect it is ignored, not refused
    :param deprecated: what to use in its place; empty: not deprecated
    """

    name: str
    type: Callable[[str], Any] = dataclasses.field(compare=False, repr=False)
    default: T = dataclasses.field(compare=False)
    allowed: str = dataclasses.field(compare=False)
    help: str = dataclasses.field(compare=False, repr=False)
    scope: Scope = dataclasses.field(default=Scope.CLUSTER, compare=False)
    aliases: tuple[str, ...] = dataclasses.field(default=(), compare=False)
    former: tuple[str, ...] = dataclasses.field(default=(), compare=False)
    becomes: tuple[str, ...] = dataclasses.field(default=(), compare=False)
    charts: tuple[chart_versions.Range, ...] = dataclasses.field(
        default=chart_versions.ALL, compare=False
    )
    harmless: bool = dataclasses.field(default=False, compare=False)
    deprecated: str = dataclasses.field(default="", compare=False)
    details: str = dataclasses.field(default="", compare=False)

    @property
    def rule(self) -> str:
        """All of what is allowed, with the details."""
        return "; ".join(filter(None, (self.allowed, self.details)))

    def parse(self, value: str, name: str | None = None) -> T:
        """``value`` in this label's type.

        :raises LabelError: naming the label, the value and what is allowed
        """
        try:
            parsed: T = self.type(value)
        except (ValueError, TypeError) as error:
            why = str(error) if isinstance(error, Reason) else ""
            raise errors.LabelError(
                name or self.name,
                value,
                self.allowed,
                "; ".join(filter(None, (why, self.details))),
            ) from error
        return parsed

    def text(self, value: T) -> str:
        """``value`` as a user would write it."""
        if isinstance(self.type, types.ConfigType) and value is not None:
            return str(self.type.format_defaults(value)[0])
        return str(value)


@dataclasses.dataclass(frozen=True, kw_only=True)
class Switch(Label[bool]):
    """A label that is true or false."""

    type: Callable[[str], Any] = dataclasses.field(
        default_factory=types.Boolean, compare=False, repr=False
    )
    allowed: str = dataclasses.field(default="true or false", compare=False)


class Values:
    """The parsed labels of a cluster or group: ``values[LABEL]`` is typed.

    :param values: by name; what is missing has the label's default
    :param given: name of a label -> (name it was given under, text); without
        those that only the operator's options set
    :param lasting: names of labels that whoever gave them can't take back
    """

    def __init__(
        self,
        values: Mapping[str, Any],
        given: Mapping[str, tuple[str, str]] | None = None,
        lasting: Collection[str] = (),
    ) -> None:
        self._values = dict(values)
        self._given = dict(given or {})
        self._lasting = frozenset(lasting)

    def __getitem__(self, label: Label[T]) -> T:
        value: T = self._values.get(label.name, label.default)
        return value

    def given(self, label: Label[Any]) -> tuple[str, str] | None:
        """Name and text under which a user gave the label, if so."""
        return self._given.get(label.name)

    def lasting(self, names: Collection[str]) -> Values:
        """The same, of a living cluster that was given those labels."""
        return Values(self._values, self._given, names)

    def lasts(self, label: Label[Any]) -> bool:
        """Whether nobody can take the label back."""
        return label.name in self._lasting

    def settled(self) -> Values:
        """The same, of a living cluster: nobody can give other ones."""
        return Values(self._values)

    def beneath(self, stronger: Values) -> Values:
        """These values where ``stronger`` has none."""
        return Values(
            {**self._values, **stronger._values},
            {**self._given, **stronger._given},
            self._lasting - stronger._given.keys() | stronger._lasting,
        )

    def over(self, weaker: Values) -> Values:
        """These values, as nobody's, and the others of ``weaker``."""
        given = {
            name: setting
            for name, setting in weaker._given.items()
            if name not in self._values
        }
        return Values(
            {**weaker._values, **self._values}, given, weaker._lasting
        )

    def refused(
        self, label: Label[Any], allowed: str, details: str = ""
    ) -> Exception:
        """The error for a value that is wrong only beside something else.

        :param allowed: what is allowed, in words without a full stop
        :param details: what else to say
        """
        name, text = self.given(label) or (
            label.name,
            label.text(self[label]),
        )
        return errors.LabelError(name, text, allowed, details)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Values) and self._values == other._values

    def __hash__(self) -> int:
        return hash(tuple(sorted(map(repr, self._values.items()))))

    def __repr__(self) -> str:
        return f"Values({self._values!r})"


@dataclasses.dataclass(frozen=True)
class Sources:
    """The labels that users gave, place by place."""

    template: Mapping[str, str] = dataclasses.field(default_factory=dict)
    cluster: Mapping[str, str] = dataclasses.field(default_factory=dict)
    nodegroup: Mapping[str, str] = dataclasses.field(default_factory=dict)

    def for_scope(self, scope: Scope) -> tuple[Mapping[str, str], ...]:
        """Where a label of that scope is looked for, the strongest first."""
        if scope is Scope.TEMPLATE:
            return (self.template,)
        if scope is Scope.CLUSTER:
            return (self.cluster, self.template)
        return (self.nodegroup, self.cluster, self.template)


def resolve(
    declared: Iterable[Label[Any]],
    sources: Sources,
    defaults: Mapping[str, Any],
) -> Values:
    """The value of each declared label.

    :param defaults: the operator's options, already of the right type
    :raises LabelError: for the first value that is not allowed
    """
    found: dict[str, Any] = {}
    given: dict[str, tuple[str, str]] = {}
    for label in declared:
        setting = _first(label, sources)
        if setting is not None:
            name, text = setting
            found[label.name] = label.parse(text, name)
            given[label.name] = setting
        elif label.name in defaults:
            found[label.name] = defaults[label.name]
    return Values(found, given)


def narrowed(
    declared: Iterable[Label[Any]],
    values: Values,
    nodegroup: Mapping[str, str],
) -> Values:
    """The values of a cluster, with those of one nodegroup on top.

    :raises LabelError: for the first value that is not allowed
    """
    own = resolve(
        [each for each in declared if each.scope is Scope.NODEGROUP],
        Sources(nodegroup=nodegroup),
        {},
    )
    return values.beneath(own)


def _first(label: Label[Any], sources: Sources) -> tuple[str, str] | None:
    """The strongest setting: a label beats its aliases in each source."""
    for source in sources.for_scope(label.scope):
        for name in (label.name, *label.aliases):
            if name in source:
                return name, source[name]
    return None


def check_chart(
    declared: Iterable[Label[Any]], values: Values, version: str
) -> None:
    """Refuse what the chart of that version would silently ignore.

    :raises LabelError: a label that was given has no effect there
    """
    for label in declared:
        if label.harmless or values[label] == label.default:
            continue
        if not chart_versions.applies(label.charts, version):
            raise values.refused(
                label,
                "it with a chart version that applies it",
                f"charts {chart_versions.describe(label.charts)} do, and "
                f"this is {version}",
            )
