# SPDX-License-Identifier: Apache-2.0

"""Words that the bench and the processes of drivers share."""

HEALTH = "health"
STATUS = "status"
ALL = (HEALTH, STATUS)
TICK = "tick"
HOOKS = "hooks"
NEW = "new"
OLD = "1.4.0"
NONE = "none"
