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
"""Autoscaling: a row for each label."""

from __future__ import annotations

#: label -> (a value that is not its default, what else it needs)
CHANGES: dict[str, tuple[str, dict[str, str]]] = {
    "auto_scaling_enabled": ("true", {"max_node_count": "5"}),
    "min_node_count": (
        "1",
        {"auto_scaling_enabled": "true", "max_node_count": "5"},
    ),
    "max_node_count": ("6", {"auto_scaling_enabled": "true"}),
    "autoscaler_tag": ("v1.34.1", {"auto_scaling_enabled": "true"}),
    "auto_scaling_unneeded_time": ("30m", {"auto_scaling_enabled": "true"}),
    "auto_scaling_utilization_threshold": (
        "0.7",
        {"auto_scaling_enabled": "true"},
    ),
}

#: label -> a value that no user may give
REFUSED: dict[str, str] = {
    "auto_scaling_enabled": "2",
    "min_node_count": "1.5",
    "max_node_count": "many",
    "autoscaler_tag": "v1.34.1@sha256:0",
    "auto_scaling_unneeded_time": "10",
    "auto_scaling_utilization_threshold": "50%",
}
