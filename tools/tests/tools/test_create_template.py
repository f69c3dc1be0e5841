# SPDX-License-Identifier: Apache-2.0

"""The tool that makes Magnum's templates of files such as the samples."""

from __future__ import annotations

import contextlib
import io
import pathlib
import runpy

import fixtures
from oslotest import base

from tools.tests.tools import stubs

_TOOL = str(stubs.ROOT / "tools" / "create-template.py")
_SMALL = stubs.ROOT / "samples" / "templates" / "small.yaml"
_CREATE = "openstack coe cluster template create"
#: Fields of a file, words beside it, the words that the command ends with.
_COMMANDS = (
    (
        "flavor_id: m1.large, docker_volume_size: 20, master_lb_enabled: off,"
        " floating_ip_enabled: false, labels: {a: '1,2', b: x=y},"
        " cluster: {node_count: 3}, nodegroups: [{name: n}]",
        "--public",
        "--image=i --flavor=m1.large --docker-volume-size=20"
        " --floating-ip-disabled --labels=a=1,2 --labels=b=x=y --public",
    ),
    (
        "labels: {volume_type: , oidc_issuer_url: ''}",
        "--set image_id=mine --set labels.volume_type=ssd --set"
        " master_lb_enabled=true",
        "--image=mine --master-lb-enabled --labels=volume_type=ssd"
        " --labels=oidc_issuer_url=",
    ),
)
#: Fields of a file, words beside it, the beginning of the error.
_REFUSALS = (
    ("image: i", "", "there is no field image: give dns_nameserver, "),
    ("", "--set image_id=", "image_id is missing: a template needs one"),
    ("", "--set x", "--set x: give FIELD=VALUE"),
    (
        "master_lb_enabled: maybe",
        "",
        "master_lb_enabled is 'maybe': give true or false",
    ),
    ("labels: [a]", "", "labels is ['a']: give names and values"),
    ("labels: {a=b: c}", "", "label 'a=b' is no name: give one without spa"),
    (
        "labels: {registry_mirrors: 'a=b,c=d'}",
        "",
        "label registry_mirrors is the only one, and the client would split",
    ),
    (
        "labels: {boot_volume_type: }",
        "",
        "PATH: label boot_volume_type has no value: give one, or '' to switch",
    ),
    ("}", "", "PATH can't be read: "),
)


class CreateTemplateTest(base.BaseTestCase):
    def said(self, text: str, words: str) -> str:
        """Return the text that the tool prints for a file."""
        path = pathlib.Path(self.useFixture(fixtures.TempDir()).path, "file")
        path.write_text(text)
        output = io.StringIO()
        main = runpy.run_path(_TOOL)["main"]
        with (
            contextlib.redirect_stdout(output),
            contextlib.redirect_stderr(output),
        ):
            main([str(path), "--dry-run", *words.split()])
        return output.getvalue().replace(str(path), "PATH")

    def test_file_and_arguments_become_one_command(self) -> None:
        for fields, words, expected in _COMMANDS:
            self.assertEqual(
                f"{_CREATE} t --coe=kubernetes {expected}\n",
                self.said(f"{{name: t, image_id: i, {fields}}}", words),
            )

    def test_bad_input_is_refused_by_name(self) -> None:
        for fields, words, expected in _REFUSALS:
            said = self.said(f"{{name: t, image_id: i, {fields}}}", words)
            self.assertEqual(f"error: {expected}", said[: len(expected) + 7])
        expected = "error: PATH: give the fields of a cluster template\n"
        self.assertEqual(expected, self.said("[]", ""))

    def test_program_ends_as_the_command_does(self) -> None:
        played = self.useFixture(stubs.Stubs({"openstack": "exit 3"}))
        done = played.bash("-c", f"python3 {_TOOL} {_SMALL}")
        self.assertEqual(
            (3, "", ""), (done.returncode, done.stdout, done.stderr)
        )
        [command] = played.commands()
        self.assertTrue(command.startswith(f"{_CREATE} k8s-small "), command)
