# SPDX-License-Identifier: Apache-2.0

"""Magnum labels as declarations.

A :class:`Label` owns its name, type, default, aliases and help. From that
one declaration come the option in ``[capi_helm_cluster_labels]``, the
validation, the row in the label reference and the value that a topic of
:mod:`magnum_capi_helm.features` reads.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
import dataclasses
import enum
from typing import Any, Generic, TypeVar

from oslo_config import types

from magnum_capi_helm.model import errors
from magnum_capi_helm.model import versions

T = TypeVar("T")


class Reason(ValueError):
    """The cause of a refusal, if the label's rule does not explain it."""


class Scope(enum.Enum):
    """The narrowest place where a label is read; includes those before it."""

    TEMPLATE = "template"
    CLUSTER = "cluster"
    NODEGROUP = "nodegroup"


@dataclasses.dataclass(frozen=True, eq=False)
class Label(Generic[T]):
    """The declaration of a label.

    :param name: name of the label and of its option
    :param type: an oslo.config type: parses a string or raises ValueError
    :param default: value if neither the label nor the option is set
    :param allowed: the allowed values, for the error message and the docs;
        without a full stop, at which Magnum's API cuts
    :param details: more about the allowed values, such as an example
    :param help: the effect of the label
    :param scope: the narrowest place where it is read
    :param aliases: other names of the same label, weaker than ``name``
    :param former: names of the option in ``[capi_helm]`` (deprecated)
    :param becomes: paths of the chart values that it changes
    :param charts: chart versions on which it has an effect; on others a
        value that differs from the default is refused
    :param harmless: ignored, not refused, on charts where it has no effect
    :param deprecated: its replacement; empty: not deprecated
    :param retired: value in lower case -> why it is one to leave
    """

    name: str
    type: Callable[[str], Any] = dataclasses.field(repr=False)
    default: T
    allowed: str
    help: str = dataclasses.field(repr=False)
    scope: Scope = Scope.CLUSTER
    aliases: tuple[str, ...] = ()
    former: tuple[str, ...] = ()
    becomes: tuple[str, ...] = ()
    charts: tuple[versions.Range, ...] = versions.ALL
    harmless: bool = False
    deprecated: str = ""
    retired: Mapping[str, str] = dataclasses.field(default_factory=dict)
    details: str = ""

    def advice(self, value: str) -> str:
        """Return what to do about a value that is deprecated, or ""."""
        return self.deprecated or self.retired.get(value.lower(), "")

    @property
    def rule(self) -> str:
        """Return the allowed values with the details."""
        return "; ".join(filter(None, (self.allowed, self.details)))

    def parse(self, value: str, name: str | None = None) -> T:
        """Return a text as a value of this label's type.

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
        """Return a value as a user would write it."""
        if isinstance(self.type, types.ConfigType) and value is not None:
            return str(self.type.format_defaults(value)[0])
        return str(value)


@dataclasses.dataclass(frozen=True)
class Values:
    """The parsed labels of a cluster or group: ``values[LABEL]`` is typed.

    :param values: by name; what is missing has the label's default
    :param settings: name of a label -> (name it was given under, text);
        without those that only the operator's options set
    :param fixed: names of labels that can't be changed any more
    """

    values: Mapping[str, Any] = dataclasses.field(hash=False)
    settings: Mapping[str, tuple[str, str]] = dataclasses.field(
        default_factory=dict, compare=False, repr=False
    )
    fixed: frozenset[str] = dataclasses.field(
        default=frozenset(), compare=False, repr=False
    )

    def __post_init__(self) -> None:
        # The caller may change its mapping later.
        object.__setattr__(self, "values", dict(self.values))

    def __getitem__(self, label: Label[T]) -> T:
        value: T = self.values.get(label.name, label.default)
        return value

    def given(self, label: Label[Any]) -> tuple[str, str] | None:
        """Return the name and text under which a user gave the label."""
        return self.settings.get(label.name)

    def called(self, label: Label[Any]) -> str:
        """Return the label's name, or the alias that a user gave."""
        return (self.given(label) or (label.name,))[0]

    def with_fixed(self, names: Iterable[str]) -> Values:
        """Return the values with labels that can't be changed any more."""
        return dataclasses.replace(self, fixed=frozenset(names))

    def is_fixed(self, label: Label[Any]) -> bool:
        """Return whether the label can't be changed any more."""
        return label.name in self.fixed

    def without_settings(self) -> Values:
        """Return the values as if no user had set a label."""
        return Values(self.values)

    def overridden_by(self, stronger: Values) -> Values:
        """Return the stronger values, and these where it has none."""
        return Values(
            {**self.values, **stronger.values},
            {**self.settings, **stronger.settings},
            self.fixed - stronger.settings.keys() | stronger.fixed,
        )

    def overriding(self, weaker: Values) -> Values:
        """Return these values, which no user gave, over the weaker ones."""
        settings = {
            name: setting
            for name, setting in weaker.settings.items()
            if name not in self.values
        }
        return Values({**weaker.values, **self.values}, settings, weaker.fixed)

    def refused(
        self, label: Label[Any], allowed: str, details: str = ""
    ) -> Exception:
        """Return the error for a value that contradicts another setting.

        :param allowed: the allowed values, in words without a full stop
        :param details: more advice
        """
        name, text = self.given(label) or (
            label.name,
            label.text(self[label]),
        )
        return errors.LabelError(name, text, allowed, details)


@dataclasses.dataclass(frozen=True)
class Sources:
    """The labels that users gave, by the place where they gave them."""

    template: Mapping[str, str] = dataclasses.field(default_factory=dict)
    cluster: Mapping[str, str] = dataclasses.field(default_factory=dict)
    nodegroup: Mapping[str, str] = dataclasses.field(default_factory=dict)

    def for_scope(self, scope: Scope) -> tuple[Mapping[str, str], ...]:
        """Return the sources of labels of a scope, the strongest first."""
        places = (self.template, self.cluster, self.nodegroup)
        return places[list(Scope).index(scope) :: -1]


def resolve(
    declared: Iterable[Label[Any]],
    sources: Sources,
    defaults: Mapping[str, Any],
) -> Values:
    """Return the value of each declared label.

    :param defaults: the operator's options, already of the right type
    :raises LabelError: for the first value that is not allowed
    """
    values: dict[str, Any] = {}
    settings: dict[str, tuple[str, str]] = {}
    for label in declared:
        setting = _first(label, sources)
        if setting is not None:
            name, text = setting
            values[label.name] = label.parse(text, name)
            settings[label.name] = setting
        elif label.name in defaults:
            values[label.name] = defaults[label.name]
    return Values(values, settings)


def _first(label: Label[Any], sources: Sources) -> tuple[str, str] | None:
    """Return the strongest setting: a label is stronger than its aliases."""
    for source in sources.for_scope(label.scope):
        for name in (label.name, *label.aliases):
            if name in source:
                return name, source[name]
    return None


def check_chart(
    declared: Iterable[Label[Any]], values: Values, version: str
) -> None:
    """Refuse labels that the chart of that version would silently ignore.

    :raises LabelError: a label that was given has no effect there
    """
    for label in declared:
        if label.harmless or values[label] == label.default:
            continue
        if not versions.applies(label.charts, version):
            raise values.refused(
                label,
                "it with a chart version that applies it",
                f"charts {versions.describe(label.charts)} do, and "
                f"this is {version}",
            )
