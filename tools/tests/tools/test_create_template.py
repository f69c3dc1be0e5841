# SPDX-License-Identifier: Apache-2.0

"""The tool that makes Magnum's templates of files such as the samples."""

from __future__ import annotations

import pathlib
import runpy
from types import SimpleNamespace

import fixtures
from oslotest import base

from tools.tests.tools import stubs

TOOL = stubs.ROOT / "tools" / "create-template.py"
SMALL = str(stubs.ROOT / "samples" / "templates" / "small.yaml")


class CommandTest(base.BaseTestCase):
    def setUp(self) -> None:
        super().setUp()
        self.tool = SimpleNamespace(**runpy.run_path(str(TOOL)))

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
        for fields, why in (
            ({"image": "i"}, "there is no field image: give dns_nameserver, "),
            ({"image_id": ""}, "image_id is missing: a template needs one"),
            (
                {"flavor_id": "--help"},
                "flavor_id is '--help': give a name, ID or number",
            ),
            (
                {"master_lb_enabled": "maybe"},
                "master_lb_enabled is 'maybe': give true or false",
            ),
            ({"labels": ["a"]}, "labels is ['a']: give names and values"),
            (
                {"labels": {"a=b": "c"}},
                "label 'a=b' is no name: give one without spaces, commas and "
                "=",
            ),
            (
                {"labels": {"registry_mirrors": "a=b,c=d"}},
                "label registry_mirrors is the only one, and the client would "
                "split its value",
            ),
        ):
            error = self.assertRaises(
                self.tool.WrongInput,
                self.tool.command,
                {"name": "t", "image_id": "i", **fields},
                public=False,
            )
            self.assertTrue(str(error).startswith(why), str(error))

    def test_arguments_win_over_the_file(self) -> None:
        found = self.tool.read(
            SMALL, ["image_id=mine", "labels.boot_volume_size=40"]
        )
        self.assertEqual("mine", found["image_id"])
        self.assertEqual("40", found["labels"]["boot_volume_size"])
        self.assertEqual("false", found["labels"]["monitoring_enabled"])
        path = self.written(b"labels: {volume_type: , oidc_issuer_url: ''}")
        self.assertEqual(
            {"labels": {"volume_type": "ssd", "oidc_issuer_url": ""}},
            self.tool.read(path, ["labels.volume_type=ssd"]),
        )

    def written(self, content: bytes) -> str:
        """A file with this in it."""
        path = pathlib.Path(self.useFixture(fixtures.TempDir()).path) / "t"
        path.write_bytes(content)
        return str(path)

    def test_bad_files_and_arguments_are_refused_by_name(self) -> None:
        for content, changes, why in (
            (b"{}", ["x"], "--set x: give FIELD=VALUE"),
            (
                b"labels: {boot_volume_type: }",
                [],
                "PATH: label boot_volume_type has no value: give one, or '' "
                "to switch off a default",
            ),
            (
                b"image_id: \xff",
                [],
                "PATH can't be read: 'utf-8' codec can't decode byte 0xff in "
                "position 10: invalid start byte",
            ),
            (b"[]", [], "PATH: give the fields of a cluster template"),
        ):
            path = self.written(content)
            error = self.assertRaises(
                self.tool.WrongInput, self.tool.read, path, changes
            )
            self.assertEqual(why.replace("PATH", path), str(error))

    def test_program_runs_or_shows_the_command(self) -> None:
        shown = "openstack coe cluster template create k8s-small "
        for words, code, out, error, ran in (
            ([], 3, "", "", 1),
            (["--dry-run"], 0, shown, "", 0),
            (["--set", "a=b"], 1, "", "error: there is no field a: give ", 0),
        ):
            played = self.useFixture(
                stubs.Stubs(["openstack"], {"openstack": "exit 3"})
            )
            argv = ("-", str(TOOL), SMALL, *words)
            done = played.bash("-c", 'python3 "$@"', *argv)
            # Where a text is expected, its beginning.
            self.assertEqual(
                (code, out, error),
                (
                    done.returncode,
                    done.stdout[: len(out) or None],
                    done.stderr[: len(error) or None],
                ),
            )
            self.assertLessEqual(done.stderr.count("\n"), 1)
            commands = played.commands()
            self.assertEqual(ran, len(commands))
            self.assertTrue(all(each.startswith(shown) for each in commands))
