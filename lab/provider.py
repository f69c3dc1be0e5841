# SPDX-License-Identifier: Apache-2.0

"""Which controllers make machines: those of labinfra or those of CAPO.

With ``simulated``, labinfra writes what CAPO would write and OpenStack has no
rows of it. With ``capo``, CAPO's own controllers make networks, load
balancers, servers and volumes in Neutron, Octavia, Nova and Cinder, and
labinfra keeps the inside of machines and the addons.
"""

from lab import choices

SIMULATED = "simulated"
CAPO = "capo"
NAMES = (SIMULATED, CAPO)
CHOICE = choices.Choice("provider", SIMULATED)


def real() -> bool:
    """Return whether CAPO's own controllers run."""
    return CHOICE.read() == CAPO
