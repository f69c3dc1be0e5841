{{/*
Cluster API has no field for kube-proxy's configuration: it is appended to the
file that kubeadm reads, which lies elsewhere on flatcar. With cilium in its
place there is no kube-proxy at all.
*/}}
{{- define "kubeadm.kubeProxy" -}}
{{- $flatcar := eq .Values.osDistro "flatcar" -}}
{{- $folder := $flatcar | ternary "/etc" "/run/kubeadm" -}}
{{- $part := printf "%s/kube-proxy-configuration.yaml" $folder -}}
{{- $whole := $flatcar | ternary "/etc/kubeadm.yml" "/run/kubeadm/kubeadm.yaml" -}}
{{- with .Values.controlPlane.kubeadmConfigSpec.kubeProxyConfiguration -}}
files:
  - path: {{ $part }}
    owner: root:root
    permissions: "0644"
    content: |
      ---
      apiVersion: kubeproxy.config.k8s.io/v1alpha1
      kind: KubeProxyConfiguration
      {{- toYaml . | nindent 6 }}
preKubeadmCommands:
  - cat {{ $part }} >> {{ $whole }}
{{- end }}
{{- if include "cni.replacesKubeProxy" . }}
initConfiguration:
  skipPhases:
    - addon/kube-proxy
{{- end }}
{{- end }}

{{- define "cni.replacesKubeProxy" -}}
{{- $addons := .Values.addons -}}
{{- if and $addons.enabled $addons.cni.enabled (eq $addons.cni.type "cilium") -}}
{{- if dig "release" "values" "kubeProxyReplacement" true $addons.cni.cilium -}}
true
{{- end -}}
{{- end -}}
{{- end }}
