# SPDX-License-Identifier: Apache-2.0

"""A cluster that a file describes, for a preview of its values.

The file has the fields of a cluster template as Magnum's API names them, and
below ``cluster`` and ``nodegroups`` those that a user would give.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
import types
from typing import Any
import uuid

from magnum_capi_helm.model import errors
from magnum_capi_helm.resolve import operator_files

#: Field -> the value that Magnum's API takes if none is given.
_TEMPLATE: dict[str, Any] = {
    "name": "template",
    "image_id": None,
    "flavor_id": None,
    "master_flavor_id": None,
    "keypair_id": None,
    "labels": {},
    "network_driver": None,
    "volume_driver": None,
    "external_network_id": None,
    "fixed_network": None,
    "fixed_subnet": None,
    "dns_nameserver": None,
    "docker_volume_size": None,
    "http_proxy": None,
    "https_proxy": None,
    "no_proxy": None,
    "insecure_registry": None,
    "apiserver_port": None,
    "floating_ip_enabled": True,
    "master_lb_enabled": False,
}
_CLUSTER: dict[str, Any] = {
    "name": "cluster",
    "labels": {},
    "keypair": None,
    "master_count": 1,
    "node_count": 1,
    "flavor_id": None,
    "master_flavor_id": None,
    "docker_volume_size": None,
    "fixed_network": None,
    "fixed_subnet": None,
    "floating_ip_enabled": None,
    "master_lb_enabled": None,
}
_NODEGROUP: dict[str, Any] = {
    "name": None,
    "role": "worker",
    "node_count": 1,
    "min_node_count": 0,
    "max_node_count": None,
    "flavor_id": None,
    "image_id": None,
    "docker_volume_size": None,
    "labels": None,
    "node_labels": {},
    "node_taints": [],
}
_BOOLEAN = (bool, "true or false")
_MAPPING = (dict, "a mapping of names to values")
_NUMBER = (int, "a whole number")
_TEXT = (str, "text, in quotes if YAML takes it for something else")
#: Field -> its type in YAML, and the same in words; the others are text.
_KINDS: dict[str, tuple[type, str]] = {
    "apiserver_port": _NUMBER,
    "cluster": (dict, "a mapping with the fields of a cluster"),
    "docker_volume_size": _NUMBER,
    "floating_ip_enabled": _BOOLEAN,
    "labels": _MAPPING,
    "master_count": _NUMBER,
    "master_lb_enabled": _BOOLEAN,
    "max_node_count": _NUMBER,
    "min_node_count": _NUMBER,
    "node_count": _NUMBER,
    "node_labels": _MAPPING,
    "node_taints": (list, "a list of mappings with key, value and effect"),
    "nodegroups": (list, "a list of mappings with the fields of a nodegroup"),
}
#: The namespace in which names of sketches become UUIDs.
_SPACE = uuid.UUID("6a0f2f1e-6d5a-4f5b-9d3a-0c6a3f1f7d52")


def read(path: str, project_id: str) -> Any:
    """Return the cluster that a file describes, as if it were Magnum's row.

    :raises NotConfigured: the file can't be read
    :raises InvalidInput: it has unknown fields, or one of another type
    """
    content = operator_files.read_yaml(path, path)
    if not content:
        raise errors.InvalidInput(
            f"{path}: give the fields of a cluster template"
        )
    for name in ("cluster", "nodegroups"):
        _check(f"{path}: ", name, content.get(name))
    wanted = content.pop("cluster", None) or {}
    groups = content.pop("nodegroups", None) or []
    template = types.SimpleNamespace(
        **_filled(f"{path}: ", _TEMPLATE, content)
    )
    return cluster(
        template,
        _filled(f"{path}: cluster: ", _CLUSTER, wanted),
        project_id,
        [
            _filled(f"{path}: nodegroup {number}: ", _NODEGROUP, each)
            for number, each in enumerate(groups, 1)
        ],
    )


def cluster(
    template: Any,
    wanted: Mapping[str, Any],
    project_id: str,
    groups: Sequence[dict[str, Any]] = (),
) -> Any:
    """Return the row that Magnum would make of a template.

    :param wanted: the fields of the cluster; None where nothing is given
    :param groups: nodegroups beside the two default ones
    """
    fields = {**_CLUSTER, **wanted}
    for name, value in fields.items():
        if value is None and name in _TEMPLATE:
            fields[name] = getattr(template, name)
    fields["keypair"] = fields["keypair"] or template.keypair_id
    # As in Magnum, labels of the cluster replace the template's.
    row = types.SimpleNamespace(
        uuid=str(uuid.uuid5(_SPACE, str(fields["name"]))),
        project_id=project_id,
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
                **_NODEGROUP,
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


def _filled(
    where: str, fields: Mapping[str, Any], given: Any
) -> dict[str, Any]:
    hint = f"known are {', '.join(sorted(fields))}"
    if not isinstance(given, dict):
        raise errors.InvalidInput(
            f"{where}{errors.shown(given)} has no fields; {hint}"
        )
    if strange := sorted(map(str, set(given) - set(fields))):
        raise errors.InvalidInput(f"{where}unknown field {strange[0]}; {hint}")
    for name, value in given.items():
        _check(where, name, value)
    filled = dict(fields)
    filled.update({k: v for k, v in given.items() if v is not None})
    if filled["name"] is None:
        raise errors.InvalidInput(f"{where}it has no name: give one")
    for name in ("labels", "node_labels"):
        if filled.get(name):
            # Magnum keeps them as strings.
            filled[name] = {str(k): str(v) for k, v in filled[name].items()}
    return filled


def _check(where: str, name: str, value: object) -> None:
    """Refuse a value of another type than its field; None is not given."""
    kind, allowed = _KINDS.get(name, _TEXT)
    # In Python, true is a number as well.
    fits = isinstance(value, kind) and (
        isinstance(value, bool) == (kind is bool)
    )
    if name == "node_taints" and isinstance(value, list):
        fits = all(isinstance(each, dict) for each in value)
    if value is not None and not fits:
        raise errors.InvalidInput(
            f"{where}{name}={errors.shown(value)} is not allowed: give "
            f"{allowed}"
        )
