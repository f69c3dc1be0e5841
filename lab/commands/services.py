# SPDX-License-Identifier: Apache-2.0

"""``status``, ``start``, ``stop``, ``restart``: single services."""

import argparse
import pathlib

from lab import bare_host
from lab import errors
from lab import helms
from lab import predecessor
from lab import processes
from lab import registry
from lab import service
from lab.cloud import services


def run(options: argparse.Namespace) -> int:
    """One of the commands."""
    match options.command:
        case "status":
            return status()
        case "start":
            start(options.service)
        case "stop":
            stop(options.service, kill=options.kill)
        case "restart":
            restart(options)
    return 0


def status() -> int:
    """A table of all services; 0 only when all of them run."""
    rows = [["SERVICE", "STATE", "PID", "PORT", "LOG"]]
    rows += [_row(one) for one in registry.in_use()]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for row in rows:
        cells = zip(row, widths, strict=True)
        print("  ".join(text.ljust(width) for text, width in cells).rstrip())
    down = [row[0] for row in rows[1:] if row[1] != "running"]
    if down:
        print(f"{len(down)} of {len(rows) - 1} services don't run.")
    return 1 if down else 0


def _row(one: service.Service) -> list[str]:
    identity = one.identity
    ports = ",".join(map(str, one.ports)) or "-"
    if identity is None or not processes.alive(identity):
        state = "down" if identity is None else "died"
        return [one.name, state, "-", ports, str(one.log)]
    return [one.name, "running", str(identity.pid), ports, str(one.log)]


def start(name: str) -> None:
    """Start one service that is down."""
    one = registry.get(name)
    one.start()
    print(f"{name} runs.")


def stop(name: str, *, kill: bool) -> None:
    """Stop one service, with SIGKILL if asked."""
    stopped = registry.get(name).stop(kill=kill)
    print(f"{name} is stopped." if stopped else f"{name} did not run.")


def restart(options: argparse.Namespace) -> None:
    """Stop one service and start it again."""
    one = registry.get(options.service)
    if options.driver is not None:
        one = with_driver(one, options.driver)
    if options.helm is not None:
        one = services.with_helm(one, helms.given(options.helm))
    if options.bare_host:
        one = bare_host.around(one)
    one.stop()
    one.start()
    print(f"{one.name} runs again.")


def with_driver(one: service.Service, driver: str) -> service.Service:
    """Return a service that runs another driver.

    :param driver: "1.4.0", or the folder of a checkout
    :raises LabError: the folder has no driver
    """
    if driver == predecessor.VERSION:
        predecessor.install()
        return services.with_predecessor(one)
    folder = pathlib.Path(driver).resolve()
    if not (folder / "magnum_capi_helm" / "driver.py").exists():
        raise errors.LabError(
            f"{folder} has no magnum_capi_helm/driver.py",
            hint="--driver takes the folder of a checkout, or "
            f"{predecessor.VERSION}.",
        )
    return services.with_checkout(one, folder)
