{{/*
Registry mirrors and registry passwords for containerd.
*/}}
{{- define "kubeadm.containerd" -}}
files:
  {{- range list "conf.d" "certs.d" }}
  {{- /* cloud-init writes files, not directories */}}
  - path: /etc/containerd/{{ . }}/.keepdir
    owner: root:root
    permissions: "0644"
    content: |
      # Here so that the directory is.
  {{- end }}
  {{- range $registry, $mirrors := .Values.registryMirrors }}
  - path: /etc/containerd/certs.d/{{ $registry }}/hosts.toml
    owner: root:root
    permissions: "0644"
    content: |
      {{- include "containerd.hosts" (list $registry $mirrors) | nindent 6 }}
  {{- end }}
  {{- if .Values.registryAuth }}
  - path: /etc/containerd/conf.d/auth.toml
    owner: root:root
    permissions: "0644"
    contentFrom:
      secret:
        name: {{ include "name.component" (list . "containerd-auth") }}
        key: auth.toml
  {{- end }}
{{- if and .Values.registryMirrors (ne .Values.osDistro "flatcar") }}
preKubeadmCommands:
  - |-
    {{- include "containerd.enableMirrors" . | nindent 4 }}
{{- end }}
{{- end }}

{{- /* (list REGISTRY MIRRORS). MIRRORS is a list of addresses, or
{upstream, mirrors: [{url, capabilities, skipVerify, overridePath}]}. */}}
{{- define "containerd.hosts" -}}
{{- $registry := first . -}}
{{- $given := last . -}}
{{- $wanted := kindIs "map" $given | ternary $given (dict "mirrors" $given) -}}
{{- $host := eq $registry "docker.io" | ternary "registry-1.docker.io" $registry -}}
server = {{ $wanted.upstream | default (printf "https://%s" $host) | quote }}
{{- range $wanted.mirrors }}
{{- $mirror := kindIs "map" . | ternary . (dict "url" .) }}
[host.{{ $mirror.url | quote }}]
capabilities = {{ $mirror.capabilities | default (list "pull" "resolve") | toJson }}
skip_verify = {{ $mirror.skipVerify | default false }}
override_path = {{ dig "overridePath" true $mirror }}
{{- end }}
{{- end }}

{{- /* Images made for Cluster API may come without a registry folder in
containerd's configuration. */}}
{{- define "containerd.enableMirrors" -}}
/usr/bin/bash -s <<EOF
grep -q '\[plugins."io.containerd.grpc.v1.cri".registry\]' /etc/containerd/config.toml && exit
cat <<CONTENT >> /etc/containerd/config.toml
[plugins."io.containerd.grpc.v1.cri".registry]
  config_path = "/etc/containerd/certs.d"
CONTENT
systemctl restart containerd
EOF
{{- end }}
