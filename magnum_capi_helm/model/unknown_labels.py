# SPDX-License-Identifier: Apache-2.0

"""Labels that have no effect where they were given, or not for long."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
import dataclasses
import difflib
from typing import Any

from oslo_config import types

from magnum_capi_helm.model import errors
from magnum_capi_helm.model import labels


@dataclasses.dataclass(frozen=True)
class Unknown:
    """A label that no driver knows, and the known one most like it."""

    name: str
    nearest: str | None

    def __str__(self) -> str:
        hint = f" (did you mean {self.nearest}?)" if self.nearest else ""
        return f"label {errors.shown(self.name)} is not known{hint}"


def unknown(
    declared: Iterable[labels.Label[Any]],
    ignored: Collection[str],
    given: Iterable[str],
) -> tuple[Unknown, ...]:
    """The labels that mean nothing here.

    :param ignored: labels of other drivers that are accepted all the same
    :param given: names of labels that users gave
    """
    names = _by_name(declared)
    strange = sorted(set(given) - names.keys() - set(ignored))
    return tuple(Unknown(name, _nearest(name, names)) for name in strange)


@dataclasses.dataclass(frozen=True)
class Ignored:
    """A label of another driver that has no effect here.

    :param why: why it has none, as a clause without a full stop
    :param functional: with the other driver the cluster would be another one
    :param same: values that ask for what this driver does anyway; a bool
        stands for every way to write it
    :param secret: the value must not be shown
    """

    why: str
    functional: bool
    same: tuple[str | bool, ...] = ()
    secret: bool = False

    def misses(self, value: str) -> bool:
        """Return whether the cluster lacks what the value asks for."""
        return (
            self.functional
            and value != ""
            and not any(_is(value, each) for each in self.same)
        )


def _is(value: str, wanted: str | bool) -> bool:
    if not isinstance(wanted, bool):
        return value.lower() == wanted.lower()
    try:
        return types.Boolean()(value) is wanted
    except ValueError:
        return False


def missed(
    ignored: Mapping[str, Ignored], given: Mapping[str, str]
) -> dict[str, str]:
    """Return what is said of labels that ask for what the cluster lacks.

    :param ignored: labels of other drivers, by name
    :param given: labels that users gave, with their values
    :returns: by name of the label
    """
    found = {}
    for name in sorted(given.keys() & ignored.keys()):
        label, value = ignored[name], given[name]
        if label.misses(value):
            text = "***" if label.secret else errors.shown(value)
            found[name] = (
                f"label {name} has no effect: {label.why}. It is {text}"
            )
    return found


#: Scope -> where its labels are read.
_READ = {
    labels.Scope.TEMPLATE: "the template",
    labels.Scope.CLUSTER: "the template and the cluster",
}


def misplaced(
    declared: Iterable[labels.Label[Any]],
    given: Iterable[str],
    place: labels.Scope,
) -> tuple[str, ...]:
    """Who reads the known labels that nobody reads where they were given.

    :param given: names of labels that users gave in one place
    """
    wider = list(labels.Scope)[: list(labels.Scope).index(place)]
    scopes = {name: each.scope for name, each in _by_name(declared).items()}
    return tuple(
        f"label {name} is read from {_READ[scopes[name]]} alone"
        for name in sorted(given)
        if scopes.get(name) in wider
    )


def outdated(
    declared: Iterable[labels.Label[Any]], given: Iterable[str]
) -> tuple[str, ...]:
    """What to use in place of labels that are there for old templates.

    :param given: names of labels that users gave
    """
    known = _by_name(declared)
    return tuple(
        f"label {name} is deprecated: {known[name].deprecated}"
        for name in sorted(set(given) & known.keys())
        if known[name].deprecated
    )


def _by_name(
    declared: Iterable[labels.Label[Any]],
) -> dict[str, labels.Label[Any]]:
    return {
        name: label
        for label in declared
        for name in (label.name, *label.aliases)
    }


def _nearest(name: str, names: Iterable[str]) -> str | None:
    found = difflib.get_close_matches(name, sorted(names), n=1)
    return found[0] if found else None
