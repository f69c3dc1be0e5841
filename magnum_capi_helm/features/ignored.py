# SPDX-License-Identifier: Apache-2.0

"""Labels of other drivers that have no effect here.

By default they are accepted, so that templates of Magnum's Heat driver and of
magnum-cluster-api move over unchanged. ``ignored.yaml`` has them in two
classes:

- functional: with the driver that has the label, the cluster would be another
  one. The conductor logs them, and ``unknown_labels = reject`` refuses them.
- harmless: the label concerns something that clusters of this driver do not
  have or need. The driver does not mention them.
"""

from __future__ import annotations

import dataclasses

from oslo_config import types

from magnum_capi_helm.model import encoding


@dataclasses.dataclass(frozen=True)
class Ignored:
    """A label of another driver that has no effect here.

    :param why: why it has none, as a clause without a full stop
    :param functional: the other driver makes a different cluster with it
    :param same: values that this driver fulfils anyway; a bool stands for
        every way to write it
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


_TABLES = encoding.package_data("features/ignored.yaml")

#: Name of a label -> the reason.
LABELS: dict[str, Ignored] = {
    name: Ignored(
        group["why"],
        functional=kind == "functional",
        same=tuple(_TABLES["same"].get(name, ())),
        secret=name in _TABLES["secret"],
    )
    for kind in ("harmless", "functional")
    for group in _TABLES[kind]
    for name in group["labels"]
}
