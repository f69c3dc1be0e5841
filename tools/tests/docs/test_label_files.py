# SPDX-License-Identifier: Apache-2.0

"""Each label is in every file that the recipe "Add a label" names.

Each new option and each command is in a release note, too.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from importlib import metadata
import json
import re

from oslotest import base

from magnum_capi_helm import features
from magnum_capi_helm.config import conf
from magnum_capi_helm.model import labels
from magnum_capi_helm.tests.functional.cloud import table
from magnum_capi_helm.tests.unit.config import test_conf
from magnum_capi_helm.tests.unit.features import rows
from tools import archives

_CHANGES = "doc/source/reference/label-changes.json"
#: The changes of labels that the chart can't show.
_REFERENCE = "doc/ext/label_reference.py"
_OPENSTACK = "magnum_capi_helm/tests/functional/cloud/table.py"
_NOTES = "releasenotes/notes"
_ROWS = "magnum_capi_helm/tests/unit/features/rows.py"
_OF_1_4_0 = {name for name, *_ in test_conf.LABELS}
_MEASURED = re.compile(r"\* - (?:nodegroup )?label ``(\w+)``")
#: A name in a release note, or the beginning of several: ``oidc_*``.
_IN_A_NOTE = re.compile(r"``([a-z][a-z0-9_]*)(\*?)(?:=[^`]*)?``")


def _text(name: str) -> str:
    return (archives.CHECKOUT / name).read_text("utf-8")


def _notes() -> str:
    notes = (archives.CHECKOUT / _NOTES).glob("*.yaml")
    return " ".join(" ".join(e.read_text() for e in notes).split())


def _noted(declared: Iterable[str]) -> set[str]:
    """Return the labels that a release note names, and those of 1.4.0."""
    names = set(_IN_A_NOTE.findall(_notes()))
    return {
        name
        for name in declared
        if name in _OF_1_4_0
        or any(
            name.startswith(start) if star else name == start
            for start, star in names
        )
    }


def _unnoted() -> Iterator[str]:
    """Yield the new options and the commands that no note names."""
    notes = _notes()
    old = {name for name, *_ in test_conf.OPTIONS}
    for group, options in conf.list_opts():
        for option in options:
            if (
                str(group) != conf.labels_group.name
                and option.name not in old
                and not re.search(rf"\b{option.name}\b", notes)
            ):
                yield option.name
    for each in metadata.entry_points(group="magnum_capi_helm.cli").names:
        words = each.replace("_", " ")
        if not re.search(f"``(magnum-capi-helm )?{words}[ `]", notes):
            yield words


def _openstack() -> list[str]:
    """Return the labels of both tables of OpenStack objects."""
    measured = set(_MEASURED.findall(table.TABLE.read_text()))
    return [*measured, *(e for names in table.WITHOUT.values() for e in names)]


def _lists() -> Iterator[tuple[str, set[str], set[str]]]:
    """Yield each file, its labels, and the labels that it must have."""
    declared = {label.name for label in features.LABELS}
    # The rendered chart shows the changes of these.
    shown = {
        label.name
        for label in features.LABELS
        if label.becomes and label.scope is not labels.Scope.TEMPLATE
    }
    yield _CHANGES, set(json.loads(_text(_CHANGES))), shown
    others = re.search(r"_WITHOUT_VALUES = {(.*?)}", _text(_REFERENCE), re.S)
    assert others
    without = set(re.findall(r'"(\w+)": ', others[1]))
    yield _REFERENCE, without, declared - shown
    yield _OPENSTACK, set(_openstack()), declared
    yield _NOTES, _noted(declared), declared
    yield _ROWS, set(rows.ROWS), declared


class LabelFilesTest(base.BaseTestCase):
    def test_each_file_has_each_label_and_no_other(self) -> None:
        faults = [
            f"{file}: {'add' if name in wanted else 'remove'} {name}"
            for file, names, wanted in _lists()
            for name in sorted(names ^ wanted)
        ]
        self.assertEqual([], faults)

    def test_each_new_option_and_each_command_has_a_note(self) -> None:
        self.assertEqual([], list(_unnoted()))

    def test_a_label_is_in_one_table_of_openstack_objects(self) -> None:
        self.assertEqual(sorted(set(_openstack())), sorted(_openstack()))

    def test_the_page_has_the_labels_without_openstack_objects(self) -> None:
        self.assertTrue(
            table.TABLE.read_text().endswith(table.without()),
            f"{table.TABLE} is old: run python3 -m {table.__name__}",
        )
