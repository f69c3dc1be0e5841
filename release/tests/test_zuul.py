# SPDX-License-Identifier: Apache-2.0

"""What Zuul would refuse of jobs is refused here, before it is proposed."""

from __future__ import annotations

import re
import unittest

from magnum_capi_helm.model import supported
from release import archives
from release import tox_environments
from release import zuul
from release.tests import zuul_case

#: Environments that jobs of others run, by the end of their name.
_TOX_JOB = re.compile(r"openstack-tox-(\w+)$")
#: A project in OpenDev, which the clouds that run the jobs can all reach.
_OPENDEV = re.compile(r"(openstack|opendev)/[a-z0-9][a-z0-9-]+$")


class ReadingTest(unittest.TestCase):
    def test_a_secret_is_read_without_its_key(self) -> None:
        text = "- secret: {data: {token: !encrypted/pkcs1-oaep [abc]}}"
        self.assertEqual(
            [{"secret": {"data": {"token": "!encrypted/pkcs1-oaep"}}}],
            zuul.load(text),
        )

    def test_an_attribute_that_zuul_does_not_know_is_named(self) -> None:
        found = [
            ("job", {"name": "a", "required-project": []}),
            ("nodeset", {"name": "b", "nodes": [{"name": "n", "size": 1}]}),
            ("project", {"chek": {}, "gate": {"jobs": [{"a": {"vote": 0}}]}}),
            ("jobs", {"name": "c"}),
        ]
        self.assertEqual(
            [
                "job a: required-project",
                "nodeset b, node: size",
                "project: chek",
                "project gate, a: vote",
                "jobs c: no such kind of item",
            ],
            list(zuul.complaints(found[:2]))
            + list(zuul.complaints([("project", {"chek": {"jobs": []}})]))
            + list(
                zuul.complaints([("project", {"gate": found[2][1]["gate"]})])
            )
            + list(zuul.complaints(found[3:])),
        )


class JobsTest(zuul_case.ZuulCase):
    def test_zuul_knows_all_attributes(self) -> None:
        self.assertGreater(len(self.items), 20)
        self.assertEqual([], list(zuul.complaints(self.items)))

    def test_no_name_is_given_twice(self) -> None:
        names = [(kind, each.get("name")) for kind, each in self.items]
        self.assertEqual(sorted(set(names), key=str), sorted(names, key=str))

    def test_each_parent_is_defined_here_or_known_elsewhere(self) -> None:
        known = self.jobs.keys() | zuul.OTHERS_JOBS
        self.assertEqual(
            [],
            [n for n, job in self.jobs.items() if job["parent"] not in known],
        )

    def test_each_nodeset_is_defined_here_or_known_elsewhere(self) -> None:
        own = [each for kind, each in self.items if kind == "nodeset"]
        known = {each["name"] for each in own} | zuul.OTHERS_NODESETS
        wanted = {
            job["nodeset"] for job in self.jobs.values() if "nodeset" in job
        }
        self.assertEqual(set(), wanted - known)
        labels = {node["label"] for each in own for node in each["nodes"]}
        self.assertEqual(set(), labels - zuul.LABELS)

    def test_each_job_says_what_it_is_for(self) -> None:
        for name, job in self.jobs.items():
            self.assertTrue(job.get("description"), name)

    def test_each_environment_of_tox_is_in_tox_ini(self) -> None:
        known = set(tox_environments.defined())
        of_others = {
            match[1]
            for _, name, _ in zuul.used(self.project)
            if (match := _TOX_JOB.match(name))
        }
        own = {
            self.variables(name)["tox_envlist"]
            for name in self.jobs
            if any(
                job["parent"] == "openstack-tox" for job in self.ancestry(name)
            )
            and not self.jobs[name].get("abstract")
        }
        self.assertGreater(len(own), 5)
        self.assertEqual(set(), (of_others | own) - known)

    def test_the_python_of_an_environment_is_the_one_that_is_installed(
        self,
    ) -> None:
        for name in self.concrete("magnum-capi-helm-compat-"):
            variables = self.variables(name)
            minor = variables["tox_envlist"].rpartition("-py3")[2]
            self.assertEqual(f"3.{minor}", variables["python_version"], name)

    def test_each_required_project_can_be_one(self) -> None:
        for name, job in self.jobs.items():
            for each in job.get("required-projects", []):
                project = each if isinstance(each, str) else each["name"]
                self.assertRegex(project, _OPENDEV, name)

    def test_what_devstack_installs_as_a_plugin_is_checked_out(self) -> None:
        for name in self.concrete("magnum-capi-helm-devstack-"):
            wanted = {
                f"openstack/{plugin}"
                for plugin in self.variables(name)["devstack_plugins"]
            }
            found = {
                each if isinstance(each, str) else each["name"]
                for job in self.ancestry(name)
                for each in job.get("required-projects", [])
            }
            self.assertEqual(set(), wanted - found, name)
            self.assertIn("openstack/magnum-capi-helm", wanted)


class KubernetesTest(zuul_case.ZuulCase):
    release = supported.releases()[-1]

    def _minors(self, prefix: str) -> dict[str, str]:
        """Minor version in the name of a job -> version that it installs."""
        return {
            name.removeprefix(f"{prefix}kube"): self.variables(name)[
                "kube_version"
            ]
            for name in self.concrete(f"{prefix}kube")
        }

    def test_each_supported_kubernetes_has_its_jobs(self) -> None:
        first, last = (each.split(".")[1] for each in self.release.kubernetes)
        wanted = {f"1{minor}" for minor in range(int(first), int(last) + 1)}
        for kind in ("devstack", "conformance"):
            found = self._minors(f"magnum-capi-helm-{kind}-")
            self.assertEqual(wanted, set(found), kind)
            for minor, version in found.items():
                self.assertRegex(version, rf"^v1\.{minor[1:]}\.\d+$")

    def test_tests_of_one_kubernetes_run_with_the_same_version(self) -> None:
        self.assertEqual(
            self._minors("magnum-capi-helm-devstack-"),
            self._minors("magnum-capi-helm-conformance-"),
        )

    def test_each_setting_of_the_plugin_is_one(self) -> None:
        settings = archives.CHECKOUT / "devstack" / "settings"
        known = set(re.findall(r"^(CAPI_\w+)=", settings.read_text(), re.M))
        local = self.variables("magnum-capi-helm-devstack-base")[
            "devstack_localrc"
        ]
        found = {name for name in local if name.startswith("CAPI_")}
        self.assertIn("CAPI_HELM_IMAGE", found)
        self.assertEqual(set(), found - known)


class ProjectTest(zuul_case.ZuulCase):
    def test_each_job_that_runs_is_defined_and_not_abstract(self) -> None:
        running = {name for _, name, _ in zuul.used(self.project)}
        known = self.jobs.keys() | zuul.OTHERS_JOBS
        self.assertEqual(set(), running - known)
        for name in running & self.jobs.keys():
            self.assertFalse(self.jobs[name].get("abstract"), name)

    def test_each_job_that_is_defined_runs_somewhere(self) -> None:
        running = {name for _, name, _ in zuul.used(self.project)}
        concrete = {n for n, j in self.jobs.items() if not j.get("abstract")}
        self.assertEqual(set(), concrete - running)

    def test_what_gates_is_checked_before(self) -> None:
        pipelines: dict[str, set[str]] = {}
        for pipeline, name, changed in zuul.used(self.project):
            if changed.get("voting", True):
                pipelines.setdefault(pipeline, set()).add(name)
        self.assertEqual(set(), pipelines["gate"] - pipelines["check"])

    def test_each_template_is_known(self) -> None:
        found = set(self.project["templates"])
        self.assertEqual(set(), found - zuul.OTHERS_TEMPLATES)
