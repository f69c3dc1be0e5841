#!/usr/bin/env bash
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
