# SPDX-License-Identifier: Apache-2.0

"""Load balancers: a row for each label."""

from __future__ import annotations

#: label -> (a value that is not its default, what else it needs)
CHANGES: dict[str, tuple[str, dict[str, str]]] = {
    "octavia_provider": ("ovn", {}),
    "octavia_lb_algorithm": ("SOURCE_IP", {}),
    "octavia_lb_healthcheck": ("false", {}),
}

#: label -> a value that no user may give
REFUSED: dict[str, str] = {
    "octavia_provider": "",
    "octavia_lb_algorithm": "RANDOM",
    "octavia_lb_healthcheck": "often",
}
