# SPDX-License-Identifier: Apache-2.0

"""A cluster that a file describes, for a preview of its values.

The file has the fields of a cluster template as Magnum's API names them, and
below ``cluster`` and ``nodegroups`` those that a user would give.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
import types
from typing import Any, TypeAlias
import uuid

from magnum_capi_helm.model import encoding
from magnum_capi_helm.model import errors
from magnum_capi_helm.resolve import operator_files

#: Field -> a key of :data:`_KINDS`, and the value that Magnum's API takes if
#: none is given.
_Fields: TypeAlias = Mapping[str, tuple[str, Any]]

#: Kind of a value -> its type in YAML, and the same in words.
_KINDS: dict[str, tuple[type, str]] = {
    "text": (str, "text, in quotes if YAML takes it for something else"),
    "number": (int, "a whole number"),
    "boolean": (bool, "true or false"),
    "mapping": (dict, "a mapping of names to values"),
    "taints": (list, "a list of mappings with key, value and effect"),
    "cluster": (dict, "a mapping with the fields of a cluster"),
    "nodegroups": (list, "a list of mappings with the fields of a nodegroup"),
}
_FIELDS: Mapping[str, _Fields] = encoding.package_data("resolve/offline.yaml")
#: The namespace in which names of sketches become UUIDs.
_SPACE = uuid.UUID("6a0f2f1e-6d5a-4f5b-9d3a-0c6a3f1f7d52")


def read(path: str) -> Any:
    """Return the cluster that a file describes, as if it were Magnum's row.

    :raises NotConfigured: the file can't be read
    :raises InvalidInput: it has unknown fields, or one of another type
    """
    content = operator_files.read_yaml(path, path)
    if not content:
        raise errors.InvalidInput(
            f"{path}: give the fields of a cluster template"
        )
    template = types.SimpleNamespace(
        **_filled(f"{path}: ", "template", content)
    )
    return cluster(
        template,
        _filled(f"{path}: cluster: ", "cluster", template.cluster),
        [
            _filled(f"{path}: nodegroup {number}: ", "nodegroup", each)
            for number, each in enumerate(template.nodegroups, 1)
        ],
    )


def cluster(
    template: Any,
    wanted: Mapping[str, Any],
    groups: Sequence[dict[str, Any]] = (),
) -> Any:
    """Return the row that Magnum would make of a template, without project.

    :param wanted: the fields of the cluster; None where nothing is given
    :param groups: nodegroups beside the two default ones
    """
    fields = {**_defaults("cluster"), **wanted}
    for name in _FIELDS["shared"]:
        if fields[name] is None:
            fields[name] = getattr(template, name)
    fields["keypair"] = fields["keypair"] or template.keypair_id
    # As in Magnum, labels of the cluster replace the template's.
    row = types.SimpleNamespace(
        uuid=str(uuid.uuid5(_SPACE, str(fields["name"]))),
        stack_id=None,
        user_id="",
        cluster_template=template,
        **fields,
    )
    defaults = (
        ("master", row.master_count, row.master_flavor_id),
        ("worker", row.node_count, row.flavor_id),
    )
    row.nodegroups = [
        _group(
            row,
            {
                **_defaults("nodegroup"),
                "name": f"default-{role}",
                "role": role,
                "node_count": count,
                "min_node_count": None,
                "flavor_id": flavor,
            },
            is_default=True,
        )
        for role, count, flavor in defaults
    ]
    row.nodegroups += [_group(row, each) for each in groups]
    return row


def _group(row: Any, fields: dict[str, Any], is_default: bool = False) -> Any:
    """Return a nodegroup that inherits what it omits from its cluster."""
    group = types.SimpleNamespace(
        uuid=str(uuid.uuid5(_SPACE, f"{row.uuid}/{fields['name']}")),
        is_default=is_default,
        **fields,
    )
    group.flavor_id = group.flavor_id or row.flavor_id
    group.image_id = group.image_id or row.cluster_template.image_id
    group.labels = row.labels if group.labels is None else group.labels
    group.docker_volume_size = (
        group.docker_volume_size or row.docker_volume_size
    )
    return group


def _defaults(part: str) -> dict[str, Any]:
    return {name: default for name, (_, default) in _FIELDS[part].items()}


def _filled(where: str, part: str, values: Any) -> dict[str, Any]:
    """Return values that a file has, and defaults of the other fields.

    :param part: of the file: a key of ``offline.yaml``
    :raises InvalidInput: a field is unknown, or its value of another type
    """
    fields = _FIELDS[part]
    hint = f"known are {', '.join(sorted(fields))}"
    if not isinstance(values, dict):
        raise errors.InvalidInput(
            f"{where}{errors.shown(values)} has no fields; {hint}"
        )
    if strange := sorted(values.keys() - fields.keys()):
        raise errors.InvalidInput(f"{where}unknown field {strange[0]}; {hint}")
    filled = _defaults(part)
    for name, value in values.items():
        if value is not None:
            _check(where, name, fields[name][0], value)
            filled[name] = value
    if filled["name"] is None:
        raise errors.InvalidInput(f"{where}it has no name: give one")
    for name in ("labels", "node_labels"):
        if filled.get(name):
            # Magnum keeps them as strings.
            filled[name] = {str(k): str(v) for k, v in filled[name].items()}
    return filled


def _check(where: str, name: str, kind: str, value: object) -> None:
    """Refuse a value of another type than its field."""
    expected, allowed = _KINDS[kind]
    # In Python, true is a number as well.
    fits = isinstance(value, expected) and (
        isinstance(value, bool) == (expected is bool)
    )
    if kind == "taints" and isinstance(value, list):
        fits = all(isinstance(each, dict) for each in value)
    if not fits:
        raise errors.InvalidInput(
            f"{where}{name}={errors.shown(value)} is not allowed: give "
            f"{allowed}"
        )
