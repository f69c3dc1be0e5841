# SPDX-License-Identifier: Apache-2.0

"""nova_all.py nova PORT: Nova's API, conductor and scheduler in one process.

They talk over oslo.messaging's in-process transport. There is no compute: the
scheduler finds no host for any server, and Nova says so in its own words.
"""

from collections.abc import Callable
import sys
import threading
import time

from cheroot import wsgi
from keystoneauth1 import exceptions


def insist(start: Callable[[], None]) -> None:
    """Try again while Keystone does not know Nova yet: in a new cloud."""
    while True:
        try:
            start()
        except exceptions.ClientException as error:
            print(f"Keystone: {error}", file=sys.stderr)
            time.sleep(1)
        else:
            return


def main(port: int) -> None:
    """Serve until killed."""
    # Nova parses the command line, and selects a backend of oslo.service,
    # when this is imported.
    sys.argv = ["nova"]
    from nova.wsgi import osapi_compute  # isort: skip
    from nova import service

    def start() -> None:
        for name in ("conductor", "scheduler"):
            service.Service.create(binary=f"nova-{name}", topic=name).start()

    threading.Thread(target=insist, args=(start,), daemon=True).start()
    address = ("127.0.0.1", port)
    wsgi.Server(address, osapi_compute.application, numthreads=8).start()


if __name__ == "__main__":
    main(int(sys.argv[2]))
