# SPDX-License-Identifier: Apache-2.0

"""The tool that makes Magnum's templates of files such as the samples."""

from __future__ import annotations

import importlib.util
import pathlib
from typing import Any

import fixtures
from oslotest import base

from tools.tests.tools import stubs

TOOL = stubs.ROOT / "tools" / "create-template.py"
SMALL = str(stubs.ROOT / "samples" / "templates" / "small.yaml")


def tool() -> Any:
    """The script as a module."""
    wanted = importlib.util.spec_from_file_location("create_template", TOOL)
    assert wanted and wanted.loader
    found = importlib.util.module_from_spec(wanted)
    wanted.loader.exec_module(found)
    return found


class CommandTest(base.BaseTestCase):
    def setUp(self) -> None:
        super().setUp()
        self.tool = tool()

    def refusal(self, **fields: Any) -> str:
        """Why no template is made of these fields."""
        error = self.assertRaises(
            self.tool.WrongInput,
            self.tool.command,
            {"name": "t", "image_id": "i", **fields},
            public=False,
        )
        return str(error)

    def test_each_field_has_its_option(self) -> None:
        self.assertEqual(
            [
                *("openstack", "coe", "cluster", "template", "create"),
                *("t", "--coe", "kubernetes"),
                *("--image", "i"),
                *("--flavor", "m1.large"),
                *("--docker-volume-size", "20"),
                "--floating-ip-disabled",
                *("--labels", "a=1,2"),
                *("--labels", "b=x=y"),
                "--public",
            ],
            self.tool.command(
                {
                    "name": "t",
                    "image_id": "i",
                    "flavor_id": "m1.large",
                    "docker_volume_size": 20,
                    "master_lb_enabled": False,
                    "floating_ip_enabled": False,
                    "labels": {"a": "1,2", "b": "x=y"},
                    "cluster": {"node_count": 3},
                    "nodegroups": [{"name": "n"}],
                },
                public=True,
            ),
        )

    def test_bad_fields_are_refused_by_name(self) -> None:
        self.assertIn(
            "there is no field image: give dns_nameserver, ",
            self.refusal(image="i"),
        )
        self.assertEqual(
            "image_id is missing: a template needs one",
            self.refusal(image_id=""),
        )
        self.assertEqual(
            "flavor_id is '--help': give a name, ID or number",
            self.refusal(flavor_id="--help"),
        )
        self.assertEqual(
            "master_lb_enabled is 'maybe': give true or false",
            self.refusal(master_lb_enabled="maybe"),
        )
        self.assertEqual(
            "labels is ['a']: give names and values",
            self.refusal(labels=["a"]),
        )
        self.assertEqual(
            "label 'a=b' is no name: give one without spaces, commas and =",
            self.refusal(labels={"a=b": "c"}),
        )
        self.assertIn(
            "label registry_mirrors is the only one, and the client would "
            "split its value",
            self.refusal(labels={"registry_mirrors": "a=b,c=d"}),
        )

    def test_arguments_win_over_the_file(self) -> None:
        found = self.tool.read(
            SMALL,
            ["image_id=mine", "labels.boot_volume_size=40"],
        )
        self.assertEqual("mine", found["image_id"])
        self.assertEqual("40", found["labels"]["boot_volume_size"])
        self.assertEqual("false", found["labels"]["monitoring_enabled"])
        error = self.assertRaises(
            self.tool.WrongInput, self.tool.read, SMALL, ["x"]
        )
        self.assertEqual("--set x: give FIELD=VALUE", str(error))

    def written(self, content: bytes) -> str:
        """A file with this in it."""
        path = pathlib.Path(self.useFixture(fixtures.TempDir()).path) / "t"
        path.write_bytes(content)
        return str(path)

    def test_what_is_wrong_with_a_file_is_said_with_its_name(self) -> None:
        for content, why in (
            (
                b"labels: {boot_volume_type: }",
                ": label boot_volume_type has no value: give one, or '' to "
                "switch off a default",
            ),
            (
                b"image_id: \xff",
                " can't be read: 'utf-8' codec can't decode byte 0xff in "
                "position 10: invalid start byte",
            ),
            (b"[]", ": give the fields of a cluster template"),
        ):
            path = self.written(content)
            error = self.assertRaises(
                self.tool.WrongInput, self.tool.read, path, []
            )
            self.assertEqual(f"{path}{why}", str(error))

    def test_a_label_may_be_an_empty_text_or_get_its_value_later(self) -> None:
        path = self.written(
            b"labels: {boot_volume_type: , oidc_issuer_url: ''}"
        )
        self.assertEqual(
            {"labels": {"boot_volume_type": "ssd", "oidc_issuer_url": ""}},
            self.tool.read(path, ["labels.boot_volume_type=ssd"]),
        )


class RunTest(base.BaseTestCase):
    """The script itself."""

    def setUp(self) -> None:
        super().setUp()
        self.stubs = self.useFixture(
            stubs.Stubs(["openstack"], {"openstack": "exit 3"})
        )

    def run_tool(self, *argv: str) -> tuple[int, str, str]:
        """Exit code, and what it wrote."""
        done = self.stubs.bash("-c", 'python3 "$@"', "-", str(TOOL), *argv)
        return done.returncode, done.stdout, done.stderr

    def test_the_command_is_run_and_its_exit_code_returned(self) -> None:
        self.assertEqual((3, "", ""), self.run_tool(SMALL))
        (command,) = self.stubs.commands()
        self.assertIn("template create k8s-small --coe kubernetes", command)

    def test_a_dry_run_prints_it_alone(self) -> None:
        code, out, _ = self.run_tool(SMALL, "--dry-run")
        self.assertEqual(0, code)
        self.assertTrue(
            out.startswith("openstack coe cluster template create k8s-small ")
        )
        self.assertEqual([], self.stubs.commands())

    def test_an_error_is_one_line(self) -> None:
        code, _, error = self.run_tool(SMALL, "--set", "a=b")
        self.assertEqual(1, code)
        self.assertTrue(error.startswith("error: there is no field a: give "))
        self.assertEqual([], self.stubs.commands())
