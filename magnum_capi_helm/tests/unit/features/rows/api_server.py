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

"""Kubernetes API: a row for each label."""

from __future__ import annotations

#: label -> (a value that is not its default, what else it needs)
CHANGES: dict[str, tuple[str, dict[str, str]]] = {
    "master_lb_floating_ip_enabled": ("false", {}),
    "api_server_floating_ip": ("192.0.2.7", {}),
    "api_server_fixed_ip": ("10.0.0.5", {}),
    "api_master_lb_allowed_cidrs": ("192.0.2.0/24", {}),
    "api_server_cert_sans": ("api.example.org", {}),
    "api_server_log_level": ("4", {}),
}

#: label -> a value that no user may give
REFUSED: dict[str, str] = {
    "master_lb_floating_ip_enabled": "none",
    "api_server_floating_ip": "2001:db8::7",
    "api_server_fixed_ip": "10.0.0.0/24",
    "api_master_lb_allowed_cidrs": "192.0.2.1/24",
    "api_server_cert_sans": "https://api.example.org",
    "api_server_log_level": "debug",
}
