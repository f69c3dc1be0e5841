# SPDX-License-Identifier: Apache-2.0

"""Text that somebody on its way would read as more than text."""

from __future__ import annotations

from magnum_capi_helm.tests.unit.lifecycle import bad_inputs

#: One character more than Kubernetes takes.
LONG = "x" * 64

SYNTAX: bad_inputs.Table = {
    "registry: a command": bad_inputs.Input(
        "label container_infra_prefix: give a registry, with or without a "
        "path. It is 'registry.example.org/$(id)'; an example is "
        "registry.example.org:5000/kubernetes",
        labels={"container_infra_prefix": "registry.example.org/$(id)"},
    ),
    "registry: a template": bad_inputs.Input(
        "insecure_registry: give a registry as host or host:port. It is '{{ "
        "registry }}'",
        template={"insecure_registry": "{{ registry }}"},
    ),
    "registry: yes": bad_inputs.Input(
        "insecure_registry: give a registry as host or host:port. It is "
        "'True'",
        template={"insecure_registry": "True"},
    ),
    "mirror: backquotes": bad_inputs.Input(
        "label registry_mirrors: give registry=URL pairs between commas or "
        "spaces; registry=none, or none alone, for no mirror. It is "
        "'docker.io=https://mirror.example.org/`id`'; an example is "
        "docker.io=https://mirror.example.org/v2/docker.io",
        labels={
            "registry_mirrors": "docker.io=https://mirror.example.org/`id`"
        },
    ),
    "proxy: a command": bad_inputs.Input(
        "no_proxy: give host names, domains, addresses and networks "
        "separated by commas. '$(id)' is none",
        template={
            "http_proxy": "http://proxy.example.org:3128",
            "no_proxy": "localhost,$(id)",
        },
    ),
    "API server: a variable": bad_inputs.Input(
        "label kubeapi_options: give event-ttl a value of only letters, "
        "digits, full stops and _ , : = / + @ % * < [ ] -. It is "
        "'--event-ttl=$(TTL)'",
        labels={"kubeapi_options": "--event-ttl=$(TTL)"},
    ),
    "controller manager: a template": bad_inputs.Input(
        "label kubecontroller_options: give v a value of only letters, "
        "digits, full stops and _ , : = / + @ % * < [ ] -. It is "
        "'--v={{ds}}'",
        labels={"kubecontroller_options": "--v={{ds}}"},
    ),
    "scheduler: quotes": bad_inputs.Input(
        "label kubescheduler_options: give v a value of only letters, "
        "digits, full stops and _ , : = / + @ % * < [ ] -. It is '--v=\"4\"'",
        labels={"kubescheduler_options": '--v="4"'},
    ),
    "OIDC: a template": bad_inputs.Input(
        "label oidc_client_id: give the client ID that tokens are issued "
        "for, of only letters, digits, full stops and _ , : = / + @ % * < [ "
        "] -. It is '{{ ds }}'",
        labels={
            "oidc_issuer_url": "https://sso.example.org",
            "oidc_client_id": "{{ ds }}",
        },
    ),
    "OIDC: a second line": bad_inputs.Input(
        "label oidc_client_id: give the client ID that tokens are issued "
        "for, of only letters, digits, full stops and _ , : = / + @ % * < [ "
        "] -. It is 'me\\n- x'",
        labels={
            "oidc_issuer_url": "https://sso.example.org",
            "oidc_client_id": "me\n- x",
        },
    ),
    "volumes: a template": bad_inputs.Input(
        "label csi_cinder_availability_zone: give the name of a Cinder "
        "availability zone, without { and }. It is '{{ x }}'",
        labels={"csi_cinder_availability_zone": "{{ x }}"},
    ),
    "profile: a path": bad_inputs.Input(
        "label capi_helm_values_profiles: give different names of the "
        "operator's profiles between commas or spaces. It is "
        "'../../etc/passwd'",
        template={"labels": {"capi_helm_values_profiles": "../../etc/passwd"}},
    ),
    "profile: not there": bad_inputs.Input(
        "label capi_helm_values_profiles: give names of the operator's "
        "profiles. It is 'gold'; there are none",
        template={"labels": {"capi_helm_values_profiles": "gold"}},
    ),
}

NAMES: bad_inputs.Table = {
    "node label: a key of 64 characters": bad_inputs.Input(
        "label node_labels: give key=value pairs that a kubelet may set, "
        f"separated by commas. It is '{LONG}=1'; '{LONG}' "
        "is no key: up to 63 of A-Z a-z 0-9 - _ . , a letter or digit at "
        "both ends",
        labels={"node_labels": LONG + "=1"},
    ),
    "node label: a value of 64 characters": bad_inputs.Input(
        "label node_labels: give key=value pairs that a kubelet may set, "
        f"separated by commas. It is 'tier={LONG}'; '{LONG}' "
        "is no value: up to 63 of A-Z a-z 0-9 - _ . , a letter or digit at "
        "both ends",
        labels={"node_labels": "tier=" + LONG},
    ),
    "node label: a key that is not ASCII": bad_inputs.Input(
        "label node_labels: give key=value pairs that a kubelet may set, "
        "separated by commas. It is 'größe=1'; 'größe' is no key: up to 63 "
        "of A-Z a-z 0-9 - _ . , a letter or digit at both ends",
        labels={"node_labels": "größe=1"},
    ),
    "taint: a key of 64 characters": bad_inputs.Input(
        "label node_taints: give key=value:effect or key:effect, separated "
        "by commas, with the effects NoSchedule, PreferNoSchedule, NoExecute. "
        f"It is '{LONG}:NoSchedule'; '{LONG}' "
        "is no key: up to 63 of A-Z a-z 0-9 - _ . , a letter or digit at "
        "both ends",
        labels={"node_taints": LONG + ":NoSchedule"},
    ),
    "taint: a value that is not ASCII": bad_inputs.Input(
        "label node_taints: give key=value:effect or key:effect, separated "
        "by commas, with the effects NoSchedule, PreferNoSchedule, "
        "NoExecute. It is 'size=größe:NoSchedule'; 'größe' is no value: up "
        "to 63 of A-Z a-z 0-9 - _ . , a letter or digit at both ends",
        labels={"node_taints": "size=größe:NoSchedule"},
    ),
    "domain: not ASCII": bad_inputs.Input(
        "label dns_cluster_domain: give a DNS domain in lower case. It is "
        "'größe.local'; an example is cluster.local",
        labels={"dns_cluster_domain": "größe.local"},
    ),
}
