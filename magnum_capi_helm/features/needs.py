# SPDX-License-Identifier: Apache-2.0

"""Labels that have no effect without another one.

Nobody shall believe that something is on which is not: such a label is
refused when a user gives it alone. Not where the operator's options set it,
nor where somebody says that the feature is off: then that is meant. Labels
that templates of Magnum's Heat driver carry, feature or not, are no matter
of this.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from magnum_capi_helm.model import labels


def check(
    found: labels.Values,
    switches: Iterable[labels.Label[Any]],
    dependent: Iterable[labels.Label[Any]],
    wanted: str,
) -> None:
    """Refuse labels of a feature that nobody switched on.

    :param switches: one of them is enough
    :param wanted: what to give with such a label, in words
    :raises LabelError: for the first one
    """
    if any(found[each] or found.given(each) for each in switches):
        return
    for label in dependent:
        if is_given(found, label):
            raise found.refused(label, f"it together with {wanted}")


def is_given(found: labels.Values, label: labels.Label[Any]) -> bool:
    """Whether a user gave the label, and not an empty text.

    A label of a living cluster is no reason to refuse what is new.
    """
    given = found.given(label)
    return (
        given is not None and not found.lasts(label) and bool(given[1].strip())
    )
