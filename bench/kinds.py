# SPDX-License-Identifier: Apache-2.0

"""Words that the bench and the processes of drivers share."""

HEALTH = "health"
STATUS = "status"
ALL = (HEALTH, STATUS)
TICK = "tick"
HOOKS = "hooks"
NEW = "new"
BEFORE = "before"
OLD = "1.4.0"
DEFAULT = (NEW, OLD)
#: BEFORE is this driver in the checkout that BENCH_BEFORE names.
DRIVERS = (NEW, BEFORE, OLD)
