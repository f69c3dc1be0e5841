# SPDX-License-Identifier: Apache-2.0

"""Every command in the documentation is run on the lab, or has a reason."""

from __future__ import annotations

import re
import shlex

from oslotest import base

from lab.documents import changes
from lab.documents import commands
from lab.documents import shapes
from lab.documents import tables

_PROMPTED = re.compile(r"^ +\$ ", re.MULTILINE)

PAGE = r"""
Title
=====

Text::

    $ openstack coe cluster create my-cluster \
        --node-count 2
    Request accepted
    $ export KUBECONFIG=~/config

.. note::

   .. code-block:: console
      :caption: said by :doc:`nobody`

      $ kubectl create -f - <<EOF
      kind: Lease
      EOF
      lease created
      $ for each in a b; do
          echo $each
        done
      $ kubectl patch lease --patch '
          {}'

.. magnum-labels::

.. code-block:: yaml
   :caption: production.yaml

   name: production
"""
COMMANDS = [
    "openstack coe cluster create my-cluster \\\n    --node-count 2",
    "export KUBECONFIG=~/config",
    "kubectl create -f - <<EOF\nkind: Lease\nEOF",
    "for each in a b; do\n    echo $each\n  done",
    "kubectl patch lease --patch '\n    {}'",
]


def _pages() -> dict[str, list[str]]:
    """Pages with commands, and these."""
    found = {
        page: commands.commands(commands.text(page))
        for page in commands.names()
    }
    return {page: texts for page, texts in found.items() if texts}


class EveryPageTest(base.BaseTestCase):
    def test_each_page_with_commands_has_a_table(self) -> None:
        self.assertEqual(sorted(_pages()), tables.pages())

    def test_each_table_is_of_a_page(self) -> None:
        known = {tables.path(page).name for page in commands.names()}
        found = {path.name for path in tables.FOLDER.glob("*")}
        self.assertEqual({"given.yaml"}, found - known)

    def test_no_command_is_lost_by_the_parser(self) -> None:
        for page in commands.names():
            source = commands.text(page)
            self.assertEqual(
                len(_PROMPTED.findall(source)),
                len(commands.commands(source)),
                page,
            )

    def test_each_command_has_a_prompt(self) -> None:
        found = {
            page: commands.unmarked(commands.text(page))
            for page in commands.names()
        }
        self.assertEqual(
            {}, {page: lines for page, lines in found.items() if lines}
        )

    def test_no_command_has_the_prompt_of_root(self) -> None:
        found = {
            page: commands.of_root(commands.text(page))
            for page in commands.names()
        }
        self.assertEqual(
            {}, {page: lines for page, lines in found.items() if lines}
        )

    def test_each_entry_of_a_table_is_about_a_command(self) -> None:
        for page, texts in _pages().items():
            for entry in tables.load(page).commands:
                self.assertTrue(
                    any(map(entry.about, texts)), f"{page}: {entry.starts}"
                )

    def test_each_word_of_a_table_is_in_a_command(self) -> None:
        for page, texts in _pages().items():
            for word in tables.load(page).stands:
                only = tables.Table(stands={word: "\0"})
                self.assertTrue(
                    any("\0" in only.on_the_lab(text) for text in texts),
                    f"{page}: {word}",
                )

    def test_what_is_given_is_there(self) -> None:
        for page in _pages():
            for name in tables.load(page).given:
                self.assertTrue(tables.given(name))

    def test_the_lab_has_each_flavor_and_image(self) -> None:
        known = {"m1.control", "m1.worker", "documents"}
        for page, texts in _pages().items():
            table = tables.load(page)
            for text in texts:
                if table.entry(text).not_run:
                    continue
                here = table.on_the_lab(commands.one_line(text))
                words = shlex.split(here)
                for option in ("--flavor", "--master-flavor"):
                    if option in words:
                        used = words[words.index(option) + 1]
                        self.assertIn(used, known, f"{page}: {text}")


class ScriptTest(base.BaseTestCase):
    def test_a_newcomer_runs_what_the_readme_says(self) -> None:
        checkout = commands.SOURCE.parents[1]
        script = (checkout / "tools" / "quickstart.sh").read_text()
        readme = (checkout / "README.rst").read_text()
        wanted = [
            block
            for block in commands.literals(readme)
            if block.startswith("python3 -m lab")
        ]
        self.assertEqual(2, len(wanted))
        found = re.findall("^python3 -m lab.*", script, re.MULTILINE)
        self.assertEqual(wanted, found[:2])
        self.assertIn(" -e page -- user/quickstart\n", script)


class CommandsTest(base.BaseTestCase):
    def test_commands_end_where_a_shell_would_run_them(self) -> None:
        self.assertEqual(COMMANDS, commands.commands(PAGE))

    def test_what_stands_below_a_command_is_what_it_prints(self) -> None:
        shown = [each.shown for each in commands.steps(PAGE)]
        self.assertEqual(
            ["Request accepted\n", "", "lease created\n", "", ""], shown
        )

    def test_what_a_command_prints_is_no_command(self) -> None:
        self.assertEqual([], commands.commands("::\n\n  Request accepted\n"))

    def test_a_command_that_does_not_end_is_an_error(self) -> None:
        error = self.assertRaises(
            ValueError, commands.commands, "::\n\n  $ echo 'one\n"
        )
        self.assertIn("does not end", str(error))

    def test_a_command_without_prompt_is_found(self) -> None:
        page = "::\n\n  openstack coe cluster list\n\n::\n\n  a: b\n"
        self.assertEqual(
            ["openstack coe cluster list"], commands.unmarked(page)
        )

    def test_a_caption_names_a_file(self) -> None:
        self.assertEqual(
            {"production.yaml": "name: production\n"},
            dict(commands.files(PAGE)),
        )

    def test_a_reader_writes_no_file_outside_of_a_home(self) -> None:
        page = PAGE.replace("production.yaml", "/etc/production.yaml")
        self.assertEqual({}, dict(commands.files(page)))

    def test_a_command_on_one_line(self) -> None:
        self.assertEqual(
            "openstack coe cluster create my-cluster --node-count 2",
            commands.one_line(COMMANDS[0]),
        )


class ShapesTest(base.BaseTestCase):
    NARROW = """2 found
+------+-----+
| Clus | Age |
| ter  |     |
+------+-----+
| shop | 1   |
"""
    WIDE = "+---+---+\n| Cluster | Age |\n+---+---+\n"

    def test_the_columns_of_a_table_may_be_narrow(self) -> None:
        self.assertEqual(["Cluster", "Age"], shapes.columns(self.NARROW))
        self.assertEqual([], shapes.columns("nothing to do\n"))

    def test_a_table_with_other_columns_is_told(self) -> None:
        self.assertEqual("", shapes.differ(self.NARROW, self.WIDE))
        self.assertEqual("", shapes.differ(self.WIDE, "nothing to do\n"))
        self.assertEqual("", shapes.differ("", self.WIDE))
        other = self.WIDE.replace("Age", "State")
        self.assertEqual(
            "the page shows the columns ['Cluster', 'Age'],"
            " printed are ['Cluster', 'State']",
            shapes.differ(self.WIDE, other),
        )


class TableTest(base.BaseTestCase):
    def test_whole_words_stand_for_others(self) -> None:
        table = tables.Table(
            stands={
                "m1.large": "m1.worker",
                "NAME": "$(name)",
                "sudo -u magnum ": "",
                "pvc-6f0c...": "$volume",
            }
        )
        for text, wanted in {
            "--flavor m1.large": "--flavor m1.worker",
            "--flavor m1.large-2 bm1.large": "--flavor m1.large-2 bm1.large",
            "delete NAME NAMES": "delete $(name) NAMES",
            "sudo -u magnum magnum-capi-helm": "magnum-capi-helm",
            "set pvc-6f0c... x": "set $volume x",
        }.items():
            self.assertEqual(wanted, table.on_the_lab(text))

    def test_what_no_entry_is_about_is_run(self) -> None:
        table = tables.Table(
            commands=(tables.Entry(starts="helm pull", not_run="no net"),)
        )
        self.assertEqual("no net", table.entry("helm pull \\\n x").not_run)
        self.assertEqual("", table.entry("helm list").not_run)

    def test_a_page_that_is_not_run_has_one_reason(self) -> None:
        table = tables.Table(not_run="needs Docker")
        self.assertEqual("needs Docker", table.entry("docker ps").not_run)


class ChangesTest(base.BaseTestCase):
    def test_what_a_command_does_to_a_cluster(self) -> None:
        for command, wanted in {
            "openstack coe cluster create a --node-count 1": ("create", "a"),
            "openstack coe cluster resize \\\n a 3": ("change", "a"),
            "openstack coe nodegroup delete a gpu": ("change", "a"),
            "openstack coe credential rotate a": ("change", "a"),
            "openstack coe cluster delete a": ("delete", "a"),
            "openstack coe cluster show a": None,
            "openstack coe cluster template create a": None,
            "openstack server list": None,
            "magnum-capi-helm cluster apply a": None,
        }.items():
            found = changes.of_cluster(command)
            self.assertEqual(
                wanted, found and (found.verb, found.name), command
            )

    def test_what_a_command_does_to_a_template(self) -> None:
        found = changes.of_template("openstack coe cluster template create a")
        self.assertEqual(changes.Change("create", "a"), found)
        self.assertIsNone(
            changes.of_template("openstack coe cluster create a")
        )

    def test_who_looks_does_not_wait(self) -> None:
        for command in (
            "openstack coe cluster show a -c status",
            "openstack coe nodegroup list a",
            "openstack coe cluster template list",
        ):
            self.assertTrue(changes.looks(command), command)
        self.assertFalse(changes.looks("openstack coe cluster config a"))
