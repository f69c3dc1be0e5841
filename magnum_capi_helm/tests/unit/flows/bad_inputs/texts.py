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

"""Text that somebody on its way would read as more than text."""

from __future__ import annotations

from magnum_capi_helm.tests.unit.flows import bad_inputs

#: One character more than Kubernetes takes.
LONG = "x" * 64

SYNTAX: bad_inputs.Table = {
    "registry: a command": bad_inputs.Input(
        "label container_infra_prefix='registry.example.org/$(id)' is not "
        "allowed: give a registry such as "
        "registry.example.org:5000/kubernetes",
        labels={"container_infra_prefix": "registry.example.org/$(id)"},
    ),
    "registry: a template": bad_inputs.Input(
        "insecure_registry='{{ registry }}' is not allowed: give a registry "
        "as host or host:port",
        template={"insecure_registry": "{{ registry }}"},
    ),
    "mirror: backquotes": bad_inputs.Input(
        "label registry_mirrors='docker.io=https://mirror.example.org/`id`' "
        "is not allowed: give registry=URL pairs between commas or spaces, "
        "such as docker.io=https://mirror.example.org/v2/docker.io; "
        "registry=none, or none alone, for no mirror",
        labels={
            "registry_mirrors": "docker.io=https://mirror.example.org/`id`"
        },
    ),
    "proxy: a command": bad_inputs.Input(
        "no_proxy: '$(id)' is not allowed: give host names, domains, "
        "addresses and networks separated by commas",
        template={
            "http_proxy": "http://proxy.example.org:3128",
            "no_proxy": "localhost,$(id)",
        },
    ),
    "API server: a variable": bad_inputs.Input(
        "label kubeapi_options='--event-ttl=$(TTL)' is not allowed: give "
        "event-ttl a value of only letters, digits and _ . , : = / + @ % * "
        "< [ ] -",
        labels={"kubeapi_options": "--event-ttl=$(TTL)"},
    ),
    "controller manager: a template": bad_inputs.Input(
        "label kubecontroller_options='--v={{ds}}' is not allowed: give v a "
        "value of only letters, digits and _ . , : = / + @ % * < [ ] -",
        labels={"kubecontroller_options": "--v={{ds}}"},
    ),
    "scheduler: quotes": bad_inputs.Input(
        "label kubescheduler_options='--v=\"4\"' is not allowed: give v a "
        "value of only letters, digits and _ . , : = / + @ % * < [ ] -",
        labels={"kubescheduler_options": '--v="4"'},
    ),
    "OIDC: a template": bad_inputs.Input(
        "label oidc_client_id='{{ ds }}' is not allowed: give the client ID "
        "that tokens are issued for, of only letters, digits and _ . , : = "
        "/ + @ % * < [ ] -",
        labels={
            "oidc_issuer_url": "https://sso.example.org",
            "oidc_client_id": "{{ ds }}",
        },
    ),
    "OIDC: a second line": bad_inputs.Input(
        "label oidc_client_id='me\\n- x' is not allowed: give the client ID "
        "that tokens are issued for, of only letters, digits and _ . , : = "
        "/ + @ % * < [ ] -",
        labels={
            "oidc_issuer_url": "https://sso.example.org",
            "oidc_client_id": "me\n- x",
        },
    ),
    "volumes: a template": bad_inputs.Input(
        "label csi_cinder_availability_zone='{{ x }}' is not allowed: give "
        "the name of a Cinder availability zone, without { and }",
        labels={"csi_cinder_availability_zone": "{{ x }}"},
    ),
    "profile: a path": bad_inputs.Input(
        "label capi_helm_values_profiles='../../etc/passwd' is not allowed: "
        "give different names of the operator's profiles between commas or "
        "spaces",
        template={"labels": {"capi_helm_values_profiles": "../../etc/passwd"}},
    ),
    "profile: not there": bad_inputs.Input(
        "label capi_helm_values_profiles='gold' is not allowed: give none, "
        "for the operator keeps no profiles",
        template={"labels": {"capi_helm_values_profiles": "gold"}},
    ),
}

NAMES: bad_inputs.Table = {
    "node label: a key of 64 characters": bad_inputs.Input(
        f"label node_labels='{LONG}=1' "
        "is not allowed: give key=value pairs that a kubelet may set, "
        "separated by commas; "
        f"'{LONG}' "
        "is no key: up to 63 of A-Z a-z 0-9 - _ . , a letter or digit at "
        "both ends",
        labels={"node_labels": LONG + "=1"},
    ),
    "node label: a value of 64 characters": bad_inputs.Input(
        f"label node_labels='tier={LONG}' "
        "is not allowed: give key=value pairs that a kubelet may set, "
        "separated by commas; "
        f"'{LONG}' "
        "is no value: up to 63 of A-Z a-z 0-9 - _ . , a letter or digit at "
        "both ends",
        labels={"node_labels": "tier=" + LONG},
    ),
    "node label: a key that is not ASCII": bad_inputs.Input(
        "label node_labels='größe=1' is not allowed: give key=value pairs "
        "that a kubelet may set, separated by commas; 'größe' is no key: up "
        "to 63 of A-Z a-z 0-9 - _ . , a letter or digit at both ends",
        labels={"node_labels": "größe=1"},
    ),
    "taint: a key of 64 characters": bad_inputs.Input(
        f"label node_taints='{LONG}:NoSchedule' "
        "is not allowed: give key=value:effect or key:effect, separated by "
        "commas, with the effects NoSchedule, PreferNoSchedule, NoExecute; "
        f"'{LONG}' "
        "is no key: up to 63 of A-Z a-z 0-9 - _ . , a letter or digit at "
        "both ends",
        labels={"node_taints": LONG + ":NoSchedule"},
    ),
    "taint: a value that is not ASCII": bad_inputs.Input(
        "label node_taints='size=größe:NoSchedule' is not allowed: give "
        "key=value:effect or key:effect, separated by commas, with the "
        "effects NoSchedule, PreferNoSchedule, NoExecute; 'größe' is no "
        "value: up to 63 of A-Z a-z 0-9 - _ . , a letter or digit at both "
        "ends",
        labels={"node_taints": "size=größe:NoSchedule"},
    ),
    "domain: not ASCII": bad_inputs.Input(
        "label dns_cluster_domain='größe.local' is not allowed: give a DNS "
        "domain in lower case such as cluster.local",
        labels={"dns_cluster_domain": "größe.local"},
    ),
}
