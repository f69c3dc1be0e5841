# SPDX-License-Identifier: Apache-2.0

"""Every command in the documentation is run on the lab, or has a reason.

A page whose command is lost, or whose failure is overlooked, would prove
nothing.
"""

from __future__ import annotations

import itertools
import re
from unittest import mock

import fixtures
from oslotest import base

from lab.documents import commands
from lab.documents import reader
from lab.documents import tables
from lab.documents import waiting

_PROMPTED = re.compile(r"^ +\$ ", re.MULTILINE)
#: A command that has no prompt, or that of root.
_UNMARKED = re.compile(
    r"^(# )?(sudo -u magnum |sudo )?(openstack|kubectl|magnum-capi-helm|helm"
    r"|openssl|jq|curl|git|tar) [a-z-].*",
    re.MULTILINE,
)
_PAGE = r"""
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

#. Text::

      $ kubectl patch lease --patch '
          {}'
"""
_STEPS = [
    (
        "openstack coe cluster create my-cluster \\\n    --node-count 2",
        "Request accepted\n",
    ),
    ("export KUBECONFIG=~/config", ""),
    ("kubectl create -f - <<EOF\nkind: Lease\nEOF", "lease created\n"),
    ("for each in a b; do\n    echo $each\n  done", ""),
    ("kubectl patch lease --patch '\n    {}'", ""),
]
#: Command -> the cluster that it changes, and whether a reader waits before.
_WAITS = {
    "openstack coe cluster create a --node-count 1": ("a", True),
    "openstack coe cluster resize \\\n a 3": ("a", True),
    "openstack coe nodegroup delete a gpu": ("a", True),
    "openstack coe credential rotate a": ("a", True),
    "openstack coe cluster delete a": ("a", False),
    "openstack coe cluster show a": ("", False),
    "openstack coe nodegroup list a": ("", False),
    "openstack coe cluster template create a": ("", False),
    "openstack coe cluster config a": ("", True),
    "magnum-capi-helm cluster apply a": ("", True),
}
_CREATE = "openstack coe cluster create shop --node-count 1"
_POLL = "magnum_capi_helm.tests.functional.base.POLL"


def _sources() -> dict[str, str]:
    files = commands.SOURCE.rglob("*.rst")
    pages = (str(file.relative_to(commands.SOURCE))[:-4] for file in files)
    return {page: commands.read(page) for page in pages}


class EveryPageTest(base.BaseTestCase):
    def test_each_page_with_commands_has_a_table(self) -> None:
        found = [page for page, text in _sources().items() if "  $ " in text]
        self.assertEqual(sorted(found), tables.pages())

    def test_each_command_has_a_prompt_and_is_found(self) -> None:
        for page, source in _sources().items():
            blocks = commands.blocks(source)
            others = [each for each in blocks if "$ " not in each]
            self.assertEqual([], _UNMARKED.findall("\n".join(others)), page)
            prompted = len(_PROMPTED.findall(source))
            self.assertEqual(prompted, len(commands.steps(source)), page)

    def test_each_part_of_a_table_is_about_a_command(self) -> None:
        for page in tables.pages():
            table = tables.load(page)
            found = [each for each, _ in commands.steps(commands.read(page))]
            self.assertLessEqual(set(table.given), set(tables.GIVEN), page)
            for word in table.tests:
                self.assertTrue(tables.tests(word), f"{page}: {word}")
            used = [table.entry(each) for each in found]
            for entry in table.commands:
                self.assertIn(entry, used, page)
            for word in table.stands:
                only = tables.Table(stands={word: "\0"})
                here = "".join(map(only.on_the_lab, found))
                self.assertIn("\0", here, f"{page}: {word}")

    def test_the_script_for_newcomers_runs_what_the_readme_says(self) -> None:
        checkout = commands.SOURCE.parents[1]
        script = (checkout / "tools" / "quickstart.sh").read_text()
        blocks = commands.blocks((checkout / "README.rst").read_text())
        wanted = [each for each in blocks if each.startswith("python3 -m lab")]
        self.assertEqual(2, len(wanted))
        found = re.findall("^python3 -m lab.*", script, re.MULTILINE)
        self.assertEqual(wanted, found[:2])
        self.assertIn(" -e page -- user/quickstart\n", script)


class CommandsTest(base.BaseTestCase):
    def test_commands_end_where_a_shell_would_run_them(self) -> None:
        self.assertEqual(_STEPS, commands.steps(_PAGE))
        self.assertEqual([], commands.steps("::\n\n  Request accepted\n"))
        with self.assertRaisesRegex(ValueError, "does not end"):
            commands.steps("::\n\n  $ echo 'one\n")

    def test_whole_words_stand_for_others(self) -> None:
        table = tables.Table(
            stands={"m1.large": "m1.worker", "NAME": "$(name)", "sudo ": ""},
            commands=(tables.Entry(starts="helm pull", not_run="no net"),),
        )
        for text, wanted in {
            "--flavor m1.large": "--flavor m1.worker",
            "--flavor m1.large-2 bm1.large": "--flavor m1.large-2 bm1.large",
            "sudo delete NAME NAMES": "delete $(name) NAMES",
        }.items():
            self.assertEqual(wanted, table.on_the_lab(text))
        self.assertEqual("no net", table.entry("helm pull \\\n x").not_run)
        self.assertEqual("", table.entry("helm list").not_run)

    def test_columns_of_a_table_are_read(self) -> None:
        text = "2 found\n+---+---+\n| Cluster | Age |\n+---+---+\n| a | 1 |\n"
        self.assertEqual(["Cluster", "Age"], reader.columns(text))
        self.assertEqual([], reader.columns("nothing to do\n"))


class WaitingTest(base.BaseTestCase):
    def reader(self, *statuses: str) -> waiting.Waiting:
        """Return a reader to whom Magnum shows a cluster, look by look."""
        self.useFixture(fixtures.MonkeyPatch(_POLL, 0))
        rows = [
            {"status": each, "status_reason": "why", "updated_at": None}
            for each in statuses
        ]
        # Nothing is to be removed, and so it is before the command.
        looks = itertools.chain([None] * 3, rows, itertools.repeat(None))
        self.magnum = mock.Mock(**{"find.side_effect": looks})
        return waiting.Waiting(self.magnum)

    def test_only_looks_and_deletions_do_not_wait(self) -> None:
        for command, (changed, waits) in _WAITS.items():
            patient = self.reader()
            patient._under_way = {"other": (_CREATE, None)}
            patient.before(command)
            left = {changed, "" if waits else "other"} - {""}
            self.assertEqual(left, set(patient._under_way), command)

    def test_a_change_waits_for_what_is_under_way(self) -> None:
        patient = self.reader("CREATE_IN_PROGRESS", "CREATE_FAILED")
        patient.before(_CREATE)
        with self.assertRaisesRegex(waiting.NotDone, "CREATE_FAILED: why"):
            patient.before("openstack coe cluster resize shop 3")
        self.magnum.call.assert_not_called()


class ShellTest(base.BaseTestCase):
    def test_a_shell_tells_exit_codes_and_all_that_is_printed(self) -> None:
        home = self.useFixture(fixtures.TempDir()).path
        with reader.shell({"HOME": home, "PATH": "/usr/bin:/bin"}) as run:
            run("mkdir ~/there && cd there && export NAME=shop")
            for command, wanted in {
                "echo $PWD $NAME": (0, f"{home}/there shop\n"),
                "echo out; (echo err >&2; exit 3)": (3, "out\nerr\n"),
                "false | cat": (1, ""),
                "cat": (0, ""),
                "cat <<EOF\na\nEOF": (0, "a\n"),
            }.items():
                self.assertEqual(wanted, run(command), command)
