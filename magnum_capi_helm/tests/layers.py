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
            "cloud.ownership",
            "exceptions",
            "names",
            "pem",
            "versions.*",
        }
    ),
    frozenset(
        {
            "control_plane_size",
            "label_types.*",
            "labels",
            "packed",
            "rendering.addon_templates",
            "spec",
            "wanted",
        }
    ),
    frozenset(
        {
            "backup.bundle",
            "backup.comparison",
            "backup.encoding",
            "delivery.change",
            "delivery.record",
            "features.*",
            "intent",
            "metrics.cloud",
            "metrics.families",
            "planes.homes",
            "records.inventory",
            "rendering.*",
            "resolve.demand",
            "status.*",
            "swap.ahead",
            "swap.back",
            "swap.back_groups",
            "swap.case",
            "swap.changes",
            "swap.evidence",
            "swap.finding",
            "swap.given",
            "swap.old_labels",
            "swap.predecessor",
            "swap.settings",
            "swap.validity",
            "upgrade.frozen",
            "upgrade.upgrade_rules",
            "values",
        }
    ),
    frozenset(
        {
            "conf",
            "credential_options",
            "delivery.options",
            "metrics.options",
            "options",
            "planes.home_options",
        }
    ),
    frozenset(
        {
            "actor",
            "certificates",
            "cloud.*",
            "credentials.access_rules",
            "credentials.application",
            "credentials.as_cluster",
            "credentials.identity",
            "credentials.ledger",
            "credentials.making",
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
            "memory.atlas",
            "metrics.exposition",
            "metrics.meter",
            "metrics.textfile",
            "operations.spent",
            "planes.traces",
            "records.*",
            "resolve.*",
            "unanswered",
        }
    ),
    frozenset(
        {
            "backup.*",
            "changes.*",
            "credentials.*",
            "delivery.*",
            "equipment",
            "memory.*",
            "metrics.*",
            "operations.*",
            "planes.*",
            "polls.*",
            "portrait",
            "preview",
            "runtime",
            "swap.*",
            "upgrade.*",
        }
    ),
    frozenset(
        {
            "cmd.*",
            "driver",
            "monitor",
        }
    ),
)
