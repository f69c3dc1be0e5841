# SPDX-License-Identifier: Apache-2.0

"""``status``, ``start``, ``stop``, ``restart``: single services."""

import argparse
import pathlib
import time

from lab import bare_host
from lab import errors
from lab import helms
from lab import predecessor
from lab import processes
from lab import registry
from lab import service
from lab.cloud import services
from lab.ha import magnum


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
    rows = [["SERVICE", "STATE", "PID", "SINCE", "PORT", "LOG"]]
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
        return [one.name, state, "-", "-", ports, str(one.log)]
    began = time.localtime(processes.since(identity))
    since = time.strftime("%H:%M:%S", began)
    pid = str(identity.pid)
    return [one.name, "running", pid, since, ports, str(one.log)]


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
        one = _with_helm(one, options.helm)
    if options.bare_host:
        one = _on_bare_host(one)
    one.stop()
    one.start()
    print(f"{one.name} runs again.")


def with_driver(one: service.Service, driver: str) -> service.Service:
    """Return a service that runs another driver.

    :param driver: "1.4.0", or the folder of a checkout
    :raises LabError: the folder has no driver
    """
    _need_driver(one, "--driver")
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


def _with_helm(one: service.Service, program: str) -> service.Service:
    _need_driver(one, "--helm")
    return services.with_helm(one, helms.given(program))


def _on_bare_host(one: service.Service) -> service.Service:
    if one.name != "magnum":
        raise errors.LabError(
            f"{one.name} does not run on a bare host",
            hint="Only magnum takes --bare-host.",
        )
    return bare_host.around(one)


def _need_driver(one: service.Service, option: str) -> None:
    with_driver = ("magnum", *magnum.CONDUCTORS)
    if one.name not in with_driver:
        raise errors.LabError(
            f"{one.name} has no driver",
            hint=f"Only these take {option}: {', '.join(with_driver)}.",
        )
