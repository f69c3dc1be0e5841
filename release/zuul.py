# SPDX-License-Identifier: Apache-2.0

"""Zuul's configuration of this project, and what Zuul would say of it.

Zuul reads a configuration when a change is proposed, and not before. This is
as much of its rules as the project uses: which attributes there are, and what
is known of jobs, nodesets and projects that are defined elsewhere.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
import pathlib
from typing import Any

import yaml

from release import archives

FOLDER = archives.CHECKOUT / "zuul.d"

#: Attributes of a job, by Zuul's documentation.
JOB = frozenset(
    [
        "abstract",
        "allowed-projects",
        "ansible-split-streams",
        "ansible-version",
        "attempts",
        "branches",
        "cleanup-run",
        "deduplicate",
        "dependencies",
        "description",
        "extra-vars",
        "failure-message",
        "failure-output",
        "files",
        "final",
        "group-vars",
        "hold-following-changes",
        "host-vars",
        "image-build-name",
        "include-vars",
        "intermediate",
        "irrelevant-files",
        "match-on-config-updates",
        "name",
        "nodeset",
        "override-checkout",
        "parent",
        "post-review",
        "post-run",
        "post-timeout",
        "pre-run",
        "pre-timeout",
        "protected",
        "provides",
        "required-projects",
        "requires",
        "roles",
        "run",
        "secrets",
        "semaphore",
        "semaphores",
        "success-message",
        "tags",
        "timeout",
        "variant-description",
        "vars",
        "voting",
        "workspace-checkout",
        "workspace-scheme",
    ]
)
NODESET = frozenset({"name", "nodes", "groups", "alternatives"})
NODE = frozenset({"name", "label"})
GROUP = frozenset({"name", "nodes"})
#: Attributes of a project that are no pipelines.
PROJECT = frozenset(
    [
        "name",
        "description",
        "templates",
        "vars",
        "queue",
        "merge-mode",
        "default-branch",
    ]
)
PIPELINE = frozenset({"jobs", "debug", "fail-fast", "file-matcher"})
REQUIRED_PROJECT = frozenset({"name", "override-checkout"})
ITEMS = {"job": JOB, "nodeset": NODESET, "project": PROJECT}

#: Pipelines of OpenDev's tenant for OpenStack.
PIPELINES = frozenset(
    [
        "check",
        "gate",
        "post",
        "promote",
        "tag",
        "release",
        "pre-release",
        "release-post",
        "experimental",
        "periodic",
        "periodic-stable",
        "periodic-weekly",
        "merge-check",
        "third-party-check",
        "check-arm64",
    ]
)
#: Jobs, templates and nodesets of others: zuul-jobs, openstack-zuul-jobs,
#: devstack and tempest.
OTHERS_JOBS = frozenset(
    {
        "devstack-tempest",
        "openstack-tox",
        "openstack-tox-cover",
        "openstack-tox-docs",
        "openstack-tox-pep8",
        "openstack-tox-py311",
        "openstack-tox-py312",
        "openstack-tox-py313",
        "run-test-command",
    }
)
OTHERS_TEMPLATES = frozenset(
    {
        "publish-openstack-docs-pti",
        "release-notes-jobs-python3",
    }
)
OTHERS_NODESETS = frozenset({"ubuntu-jammy", "ubuntu-noble"})
LABELS = frozenset({"debian-bookworm", "nested-virt-ubuntu-noble-16GB"})


class _Loader(yaml.SafeLoader):  # type: ignore[misc]
    """Zuul's YAML: with secrets, of which nothing has to be known."""


def _secret(loader: Any, suffix: str, node: Any) -> str:
    return f"!encrypted/{suffix}"


_Loader.add_multi_constructor("!encrypted/", _secret)


def load(text: str) -> Any:
    """The one document of a YAML text, in which secrets may be.

    :raises yaml.YAMLError: it is none
    """
    return yaml.load(text, Loader=_Loader)  # noqa: S506


def items(folder: pathlib.Path = FOLDER) -> list[tuple[str, dict[str, Any]]]:
    """Kind and attributes of all that the files of a folder define."""
    return [
        (kind, attributes)
        for path in sorted(folder.glob("*.yaml"))
        for item in load(path.read_text())
        for kind, attributes in item.items()
    ]


def jobs(found: Iterable[tuple[str, dict[str, Any]]]) -> dict[str, Any]:
    """The jobs among them, by name."""
    return {each["name"]: each for kind, each in found if kind == "job"}


def used(project: dict[str, Any]) -> Iterator[tuple[str, str, dict[str, Any]]]:
    """Pipeline, job and overridden attributes of each use of a job."""
    for pipeline in project.keys() - PROJECT:
        for entry in project[pipeline]["jobs"]:
            if isinstance(entry, str):
                yield pipeline, entry, {}
            else:
                for name, attributes in entry.items():
                    yield pipeline, name, attributes


def complaints(
    found: Iterable[tuple[str, dict[str, Any]]],
) -> Iterator[str]:
    """Attributes that Zuul does not know, in the words "where: which"."""
    for kind, attributes in found:
        where = f"{kind} {attributes.get('name', '')}".rstrip()
        if kind not in ITEMS:
            yield f"{where}: no such kind of item"
            continue
        allowed = ITEMS[kind] | (PIPELINES if kind == "project" else set())
        yield from _unknown(where, attributes, allowed)
        yield from _within(kind, where, attributes)


def _within(
    kind: str, where: str, attributes: dict[str, Any]
) -> Iterator[str]:
    """Complaints about what stands inside an item."""
    if kind == "nodeset":
        for node in attributes.get("nodes", []):
            yield from _unknown(f"{where}, node", node, NODE)
        for group in attributes.get("groups", []):
            yield from _unknown(f"{where}, group", group, GROUP)
    if kind == "job":
        for each in attributes.get("required-projects", []):
            if isinstance(each, dict):
                yield from _unknown(
                    f"{where}, required-projects", each, REQUIRED_PROJECT
                )
    if kind == "project":
        for name in attributes.keys() & PIPELINES:
            place = f"{where} {name}"
            yield from _unknown(place, attributes[name], PIPELINE)
        for name, job, changed in used(attributes):
            yield from _unknown(f"{where} {name}, {job}", changed, JOB)


def _unknown(
    where: str, attributes: dict[str, Any], allowed: Iterable[str]
) -> Iterator[str]:
    for name in sorted(attributes.keys() - set(allowed)):
        yield f"{where}: {name}"
