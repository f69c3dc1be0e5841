# SPDX-License-Identifier: Apache-2.0

"""``python3 -m lab COMMAND``; written so that an old Python understands it."""

import sys

OLDEST = (3, 11)
# PostgreSQL comes in a wheel that newer ones can't use.
NEWEST = (3, 12)


def main() -> int:
    """Say which Python is needed before one of the others stumbles."""
    current = sys.version_info[:2]
    if not OLDEST <= current <= NEWEST:
        oldest, newest, this = (
            f"{major}.{minor}" for major, minor in (OLDEST, NEWEST, current)
        )
        sys.stderr.write(
            f"FAILED: the lab runs on Python {oldest} to {newest}, this is"
            f" {this}\n  do: call it with one of those: python{oldest} -m lab"
            " ...\n"
        )
        return 1
    from lab import main

    return main.run()


if __name__ == "__main__":
    sys.exit(main())
