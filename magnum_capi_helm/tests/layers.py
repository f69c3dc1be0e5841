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
"""Which module may import which: for the tests, and for the documentation."""

from __future__ import annotations

#: From the bottom up. A module imports from its own layer and from below;
#: ``features.*`` stands for the package and all in it that has no layer
#: further down.
LAYERS: tuple[frozenset[str], ...] = (
    frozenset(
        {
            "api_versions",
            "chart_versions",
            "exceptions",
            "names",
            "ownership",
            "pem",
            "supported",
            "tested_versions",
        }
    ),
    frozenset(
        {
            "addon_templates",
            "argument_types",
            "control_plane_size",
            "labels",
            "network_types",
            "node_types",
            "option_types",
            "packed",
            "spec",
            "strangers",
            "wanted",
        }
    ),
    frozenset(
        {
            "backup.bundle",
            "backup.comparison",
            "backup.encoding",
            "components",
            "delivery.change",
            "delivery.record",
            "demand",
            "difference",
            "drift",
            "features.*",
            "frozen",
            "homes",
            "intent",
            "inventory",
            "masking",
            "metrics.cloud",
            "metrics.families",
            "mirrors",
            "overlays",
            "status.*",
            "stranded",
            "swap.*",
            "upgrade_rules",
            "values",
        }
    ),
    frozenset(
        {
            "conf",
            "credential_options",
            "delivery.options",
            "home_options",
            "metrics.options",
            "options",
        }
    ),
    frozenset(
        {
            "actor",
            "atlas",
            "certificates",
            "cloud.*",
            "credentials.access_rules",
            "credentials.application",
            "credentials.as_cluster",
            "credentials.identity",
            "credentials.ledger",
            "credentials.removal",
            "delivery.client_certificate",
            "delivery.message",
            "delivery.sender",
            "delivery.settings",
            "delivery.signing",
            "encryption_key",
            "faults",
            "fence",
            "helm.*",
            "management.*",
            "metrics.exposition",
            "metrics.meter",
            "metrics.textfile",
            "outcome",
            "resolve.*",
            "roster",
            "rows",
            "server_groups",
            "spent",
            "traces",
        }
    ),
    frozenset(
        {
            "acceptance",
            "assembly",
            "autoscaled",
            "backup.*",
            "creation",
            "credentials.*",
            "deletion",
            "delivery.*",
            "equipment",
            "growth",
            "health_poll",
            "in_line",
            "kept",
            "leftovers",
            "looks",
            "metrics.*",
            "maintenance",
            "namespaces",
            "nodegroup_creation",
            "nodegroup_rows",
            "nodegroup_settings",
            "nodegroups",
            "observation",
            "operation",
            "origin",
            "papers",
            "outages",
            "places",
            "planes",
            "polling",
            "portrait",
            "preview",
            "remains",
            "renewal",
            "removal",
            "repair",
            "rescue",
            "resizing",
            "runtime",
            "status_poll",
            "steady",
            "survey",
            "unfinished",
            "unlocking",
            "upgrade.*",
            "waits",
            "witnesses",
        }
    ),
    frozenset({"cmd.*", "driver", "monitor"}),
)
