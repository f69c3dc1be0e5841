# Licensed under the Apache License, Version 2.0 (the "License"); you may
# not use this file except in compliance with the License. You may obtain
# a copy of the License at
#
#      http://www.apache.org/licenses/LICENSE-2.0
#
# Unless required by applicable law or agreed to in writing, software
# distributed under the License is distributed on an "AS IS" BASIS, WITHOUT
# WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the
# License for the specific language governing permissions and limitations
# under the License.

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
