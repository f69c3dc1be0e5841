{{/*
A KubeadmConfigSpec is what the values say plus one fragment per topic, merged
in this order. Lists are joined, so files and commands of the values come
before the chart's; of single settings the chart's win.
*/}}
{{- define "kubeadm.controlPlane" -}}
{{- $given := deepCopy .Values.controlPlane.kubeadmConfigSpec -}}
{{- $spec := omit $given "kubeProxyConfiguration" -}}
{{- range list
      "kubeadm.apiServer"
      "kubeadm.etcd"
      "kubeadm.etcdEncryption"
      "kubeadm.controlPlaneLabels"
      "kubeadm.trustedCAs"
      "kubeadm.containerd"
      "kubeadm.packages"
      "kubeadm.flatcar"
      "kubeadm.flatcarFirstNode"
      "kubeadm.webhookDirectories"
      "kubeadm.webhook"
      "kubeadm.kubeProxy" -}}
{{- include "kubeadm.add" (list $spec . $) -}}
{{- end -}}
{{- toYaml $spec -}}
{{- end }}

{{- /* (list ROOT GROUP) */}}
{{- define "kubeadm.worker" -}}
{{- $root := first . -}}
{{- $spec := deepCopy (last .).kubeadmConfigSpec -}}
{{- include "kubeadm.add" (list $spec "kubeadm.workerLabels" .) -}}
{{- range list
      "kubeadm.trustedCAs"
      "kubeadm.containerd"
      "kubeadm.packages"
      "kubeadm.flatcar"
      "kubeadm.webhookDirectories" -}}
{{- include "kubeadm.add" (list $spec . $root) -}}
{{- end -}}
{{- toYaml $spec -}}
{{- end }}

{{- /* (list SPEC FRAGMENT CONTEXT): changes SPEC. fromYaml has no other way
to report bad YAML than a key "Error". */}}
{{- define "kubeadm.add" -}}
{{- $fragment := include (index . 1) (index . 2) | fromYaml -}}
{{- with $fragment.Error -}}
{{- fail (printf "%s: %s" (index $ 1) .) -}}
{{- end -}}
{{- include "merge.into" (list (first .) $fragment) -}}
{{- end }}

{{- define "kubeadm.controlPlaneLabels" -}}
{{- with .Values.controlPlane.nodeLabels -}}
{{- range list "init" "join" }}
{{ . }}Configuration:
  nodeRegistration:
    kubeletExtraArgs:
      node-labels: {{ include "machine.nodeLabels" $.Values.controlPlane.nodeLabels | quote }}
{{- end -}}
{{- end -}}
{{- end }}

{{- /* (list ROOT GROUP). The group's own label goes first. */}}
{{- define "kubeadm.workerLabels" -}}
{{- $group := last . -}}
{{- $labels := printf "%s/node-group=%s" (first .).Values.projectPrefix $group.name -}}
{{- with $group.nodeLabels -}}
{{- $labels = printf "%s,%s" $labels (include "machine.nodeLabels" .) -}}
{{- end -}}
joinConfiguration:
  nodeRegistration:
    kubeletExtraArgs:
      node-labels: {{ $labels | quote }}
{{- end }}
