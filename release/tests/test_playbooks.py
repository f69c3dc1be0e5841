# SPDX-License-Identifier: Apache-2.0

"""Playbooks that Ansible would refuse, or miss, are refused here."""

from __future__ import annotations

from collections.abc import Iterator
import pathlib
import re
from typing import Any

from release import archives
from release import zuul
from release.tests import zuul_case

_PLAYBOOKS = archives.CHECKOUT / "playbooks"
_RUNS = ("pre-run", "run", "post-run", "cleanup-run")
#: Roles of others, and whose they are.
_ROLES = {
    "orchestrate-devstack": "openstack/devstack",
}
#: What a play or a task may be made of, as far as it is used here.
_MODULE = re.compile(r"ansible\.builtin\.\w+$")
_TASK = {
    "args",
    "become",
    "become_user",
    "changed_when",
    "delay",
    "environment",
    "failed_when",
    "loop",
    "loop_control",
    "name",
    "register",
    "retries",
    "until",
}
_PLAY = {"hosts", "vars", "roles", "tasks"}


def _paths(value: Any) -> list[str]:
    return [value] if isinstance(value, str) else list(value or [])


class PlaybooksTest(zuul_case.ZuulCase):
    def _named(self) -> set[pathlib.Path]:
        """Playbooks that jobs name, and those that these import."""
        named = {
            archives.CHECKOUT / path
            for job in self.jobs.values()
            for run in _RUNS
            for path in _paths(job.get(run))
        }
        left = list(named)
        while left:
            path = left.pop()
            for play in zuul.load(path.read_text()):
                if "import_playbook" in play:
                    other = (path.parent / play["import_playbook"]).resolve()
                    if other not in named:
                        named.add(other)
                        left.append(other)
        return named

    def test_each_that_is_named_is_there_and_none_is_left_over(self) -> None:
        there = set(_PLAYBOOKS.rglob("*.yaml"))
        self.assertGreater(len(there), 2)
        self.assertEqual(there, self._named())

    def _plays(self) -> Iterator[tuple[str, dict[str, Any]]]:
        for path in sorted(_PLAYBOOKS.rglob("*.yaml")):
            for play in zuul.load(path.read_text()):
                if "import_playbook" not in play:
                    yield path.name, play

    def test_each_play_has_hosts_and_something_to_do(self) -> None:
        for path, play in self._plays():
            self.assertEqual(set(), play.keys() - _PLAY, path)
            self.assertIn(play["hosts"], ("all", "controller"))
            self.assertTrue(play.get("tasks") or play.get("roles"), path)

    def test_each_task_is_one_module_and_has_a_name(self) -> None:
        for path, play in self._plays():
            for task in play.get("tasks", []):
                where = f"{path}: {task.get('name')}"
                self.assertTrue(task.get("name"), where)
                modules = task.keys() - _TASK
                self.assertEqual(1, len(modules), where)
                self.assertRegex(modules.pop(), _MODULE, where)

    def test_each_role_is_of_a_project_that_the_job_takes_roles_of(
        self,
    ) -> None:
        base = self.jobs["magnum-capi-helm-conformance-base"]
        given = {each["zuul"] for each in base["roles"]}
        for path, play in self._plays():
            for each in play.get("roles", []):
                role = each if isinstance(each, str) else each["role"]
                self.assertIn(_ROLES[role], given, path)

    def test_each_variable_of_a_playbook_is_set_by_each_job(self) -> None:
        for name in [
            *self.concrete("magnum-capi-helm-devstack-"),
            *self.concrete("magnum-capi-helm-conformance-"),
        ]:
            variables = self.variables(name)
            for wanted in ("kube_version", "image_name", "image_release"):
                self.assertIn(wanted, variables, name)
