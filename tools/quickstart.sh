#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# What somebody does who has just found this project, on a fresh machine: the
# two commands of the README, then every command of the page
# doc/source/user/quickstart.rst. Ends with 0 when all of them did.
set -euo pipefail
cd "$(dirname "$0")/.."

python3 -m lab demo
python3 -m lab test
python3 -m lab up
# "lab test" has brought this tox.
"${LAB_DIR:-.lab}/tox-venv/bin/tox" -q -e page -- user/quickstart
