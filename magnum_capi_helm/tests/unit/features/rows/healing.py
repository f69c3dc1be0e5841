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
"""Auto-healing: a row for each label."""

from __future__ import annotations

#: label -> (a value that is not its default, what else it needs)
CHANGES: dict[str, tuple[str, dict[str, str]]] = {
    "auto_healing_enabled": ("false", {}),
    "auto_healing_max_unhealthy": ("40%", {}),
    "auto_healing_node_startup_timeout": ("1h30m", {}),
    "auto_healing_unhealthy_timeout": ("10m", {}),
}

#: label -> a value that no user may give
REFUSED: dict[str, str] = {
    "auto_healing_enabled": "maybe",
    "auto_healing_max_unhealthy": "0%",
    "auto_healing_node_startup_timeout": "4m59s",
    "auto_healing_unhealthy_timeout": "300",
}
