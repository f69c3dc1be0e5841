# SPDX-License-Identifier: Apache-2.0

"""Who has a port is found without any tool."""

import os
import pathlib
import socket
import tempfile
import unittest

from lab import ports

_TCP = """\
  sl  local_address rem_address   st tx rx tr when retrnsmt uid timeout inode
   0: 0100007F:2537 00000000:0000 0A 0:0 00:0 00000000 0 0 4242 1
   1: 0100007F:2538 0100007F:9999 01 0:0 00:0 00000000 0 0 4243 1
"""


class OwnerTest(unittest.TestCase):
    def test_a_listener_of_this_process(self) -> None:
        with socket.socket() as listener:
            listener.bind(("127.0.0.1", 0))
            listener.listen()
            port = listener.getsockname()[1]
            owner = ports.owner(port)
        assert owner is not None
        self.assertEqual(os.getpid(), owner.pid)
        self.assertIn(f"process {os.getpid()} (", str(owner))
        self.assertIsNone(ports.owner(port))

    def test_tables_of_the_kernel(self) -> None:
        with tempfile.TemporaryDirectory() as name:
            proc = pathlib.Path(name)
            (proc / "net").mkdir()
            (proc / "net" / "tcp").write_text(_TCP)
            descriptors = proc / "17" / "fd"
            descriptors.mkdir(parents=True)
            (proc / "17" / "cmdline").write_bytes(b"nginx\0-g\0daemon off\0")
            (descriptors / "3").symlink_to("socket:[4242]")
            self.assertEqual(
                ports.Owner(17, "nginx -g daemon off"),
                ports.owner(0x2537, proc),
            )
            # A connection is not a listener.
            self.assertIsNone(ports.owner(0x2538, proc))

    def test_a_process_that_we_may_not_look_into(self) -> None:
        with tempfile.TemporaryDirectory() as name:
            proc = pathlib.Path(name)
            (proc / "net").mkdir()
            (proc / "net" / "tcp").write_text(_TCP)
            owner = ports.owner(0x2537, proc)
        self.assertEqual("a process of another user", str(owner))
