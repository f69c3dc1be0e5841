# SPDX-License-Identifier: Apache-2.0

"""What conductors need beside their APIs, and how it goes away."""

from __future__ import annotations

from collections.abc import Callable, Iterator
import contextlib
import dataclasses
import pathlib
import re
import time
import uuid

from lab.chaos import conductors
from lab.chaos import faults
from lab.chaos import processes
from lab.chaos import proxy
from magnum_capi_helm.tests.functional import programs

#: Seconds that something is missing.
MISSING = 40.0
CLOCK = 300
_STORE = programs.LAB / "chart-store"
_HELM = programs.LAB / "bin" / "helm"
_ACCOUNT = "magnum-capi-helm"


@dataclasses.dataclass(frozen=True)
class Place:
    """Where the conductors are.

    :param kubeconfig: which they read
    """

    kubeconfig: pathlib.Path
    between: proxy.Proxy
    conductors: conductors.Conductors


Fault = Callable[[Place], contextlib.AbstractContextManager[None]]


@contextlib.contextmanager
def no_helm(_: Place) -> Iterator[None]:
    """It is not installed, for a while."""
    away = _HELM.with_name("helm-away")
    _HELM.rename(away)
    try:
        yield
        time.sleep(MISSING)
    finally:
        away.rename(_HELM)


@contextlib.contextmanager
def helm_hangs(place: Place) -> Iterator[None]:
    """The next helm stops at its first request, and never goes on."""

    def asks(request: faults.Request) -> bool:
        pid = processes.asking(request.port, place.between.port) or 0
        return processes.command(pid).startswith("helm")

    rule = place.between.when(
        asks, faults.before(place.conductors.stop_asking)
    )
    yield
    if not rule.hit.wait(MISSING):
        raise AssertionError("no helm asked")


@contextlib.contextmanager
def chart_store_full(_: Place) -> Iterator[None]:
    """There is no chart in it, and no room for one; root alone can."""
    options = ["-t", "tmpfs", "-o", "size=8k", "tmpfs", str(_STORE)]
    programs.run("mount", *options)
    try:
        yield
        time.sleep(MISSING)
    finally:
        programs.run("umount", "--lazy", str(_STORE))


@contextlib.contextmanager
def token_expired(place: Place) -> Iterator[None]:
    """The kubeconfig's token is refused, until somebody writes a new one."""
    text = place.kubeconfig.read_text()
    _write(place, re.sub(r"token: \S+", "token: expired", text))
    try:
        yield
        time.sleep(MISSING)
    finally:
        _write(place, text)


@contextlib.contextmanager
def token_rotated(place: Place) -> Iterator[None]:
    """Another token is in the kubeconfig, and the one in use is revoked."""
    text = place.kubeconfig.read_text()
    names = [f"token-{uuid.uuid4().hex[:6]}" for _ in range(2)]
    first, second = (_token(each) for each in names)
    _write(place, re.sub(r"token: \S+", f"token: {first}", text))
    try:
        # It is in use by now: health and status are polled.
        time.sleep(MISSING)
        yield
        _write(place, re.sub(r"token: \S+", f"token: {second}", text))
        _kubectl("delete", "secret", names[0])
        time.sleep(MISSING)
    finally:
        _write(place, text)
        _kubectl("delete", "secret", "--ignore-not-found", *names)


def _token(name: str) -> str:
    """A token that is good for as long as a Secret is there."""
    _kubectl("create", "secret", "generic", name)
    bound = ("--bound-object-kind=Secret", f"--bound-object-name={name}")
    return _kubectl("create", "token", _ACCOUNT, *bound).strip()


def _kubectl(*words: str) -> str:
    return programs.run(
        str(programs.LAB / "bin" / "kubectl"),
        f"--kubeconfig={programs.LAB / 'kubeconfig'}",
        f"--namespace={_ACCOUNT}",
        *words,
    )


def _write(place: Place, text: str) -> None:
    """At once, as a rotation does."""
    fresh = place.kubeconfig.with_suffix(".new")
    fresh.touch(0o600)
    fresh.write_text(text)
    fresh.rename(place.kubeconfig)


def restarted(service: str) -> Fault:
    """A service that Magnum needs is restarted in the middle."""

    @contextlib.contextmanager
    def fault(place: Place) -> Iterator[None]:
        yield
        place.conductors.restart(service)

    return fault


@contextlib.contextmanager
def all_killed(place: Place) -> Iterator[None]:
    """All conductors are killed at once."""
    yield
    time.sleep(1)
    for name in conductors.NAMES:
        place.conductors.kill_one(name)


@contextlib.contextmanager
def clock_off(place: Place) -> Iterator[None]:
    """The clock of one conductor is minutes ahead."""
    name = conductors.NAMES[0]
    place.conductors.restart(name, "--clock", str(CLOCK))
    try:
        time.sleep(MISSING / 2)
        yield
        # So long that it polls what goes on.
        time.sleep(MISSING)
    finally:
        place.conductors.restart(name)


#: As the table says them.
FAULTS: dict[str, Fault] = {
    "helm is not installed for 40 s": no_helm,
    "helm hangs, and never ends": helm_hangs,
    "the chart store is empty and its disk full for 40 s": chart_store_full,
    "the token in the kubeconfig has expired, for 40 s": token_expired,
    "the token in the kubeconfig is replaced and revoked": token_rotated,
    "RabbitMQ is restarted": restarted("rabbitmq"),
    "MariaDB is restarted": restarted("mariadb"),
    "all three conductors are killed": all_killed,
    "the clock of one conductor is 5 minutes ahead": clock_off,
}
