# SPDX-License-Identifier: Apache-2.0

"""``down`` and ``wipe``: they work without the virtual environment too."""

import collections
import concurrent.futures
import shutil

from lab import built
from lab import layout
from lab import processes
from lab import virtualenv


def run(management: str | None = None, *, ha: bool = False) -> None:
    """Stop everything that was ever started from this checkout.

    Or, of the management cluster of that name, its services alone; or
    Magnum's own programs and what they use alone.
    """
    count = _services(management, ha) if virtualenv.usable() else 0
    if ha or management is not None:
        print(f"{count} services stopped.")
        return
    count += _strays()
    machines = _machines()
    print(f"The lab is down: {count} services{machines} stopped.")


def _services(management: str | None, ha: bool) -> int:
    """Stop services by layers, newest first.

    Cluster API's managers stay until those who use them are gone: without
    their conversion webhooks every delete of an object stalls.
    """
    # Only now: this needs the environment's packages.
    from lab import registry
    from lab import service

    layers = collections.defaultdict(list)
    for one in registry.chosen(management, only_ha=ha):
        layers[one.layer].append(one)
    count = 0
    for layer in sorted(layers, reverse=True):
        with concurrent.futures.ThreadPoolExecutor(8) as pool:
            count += sum(pool.map(service.Service.stop, layers[layer]))
    return count


def _machines() -> str:
    """Stop the machines that run; return how many, for the message."""
    # Only now: root alone has them.
    from lab.nodes import mode
    from lab.nodes import removal

    if not mode.chosen():
        return ""
    count = removal.stop()
    return f" and {count} machine{'' if count == 1 else 's'}"


def _strays() -> int:
    """Stop what has a record but is no service of this version."""
    count = 0
    for record in layout.RUN.glob("*.pid"):
        identity = processes.read(record)
        if identity is not None and processes.alive(identity):
            processes.stop(identity)
            count += 1
        record.unlink(missing_ok=True)
    return count


def wipe(*, keep_built: bool = False) -> None:
    """Stop everything and remove all state.

    :param keep_built: leave what a build made
    """
    run()
    kept = {layout.LOCK}
    if keep_built:
        kept |= {layout.STAMPS, *built.FOLDERS, *built.stamps()}
    for path in [*layout.STAMPS.glob("*"), *layout.STATE.glob("*")]:
        if path in kept:
            continue
        if path.is_dir():
            shutil.rmtree(path)
        else:
            path.unlink()
    rest = "Only what was built" if keep_built else "Nothing"
    print(f"{rest} is left in {layout.STATE}.")
