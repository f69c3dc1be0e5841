{{- /* etcd's own disk, if there is one, is tagged by its name. */}}
{{- define "controlPlane.machineTemplateSpec" -}}
{{- $devices := dict -}}
{{- with .Values.etcd.blockDevice -}}
{{- $devices = dict "etcd" . -}}
{{- end -}}
{{- include "machine.templateSpec" (list . .Values.controlPlane $devices) -}}
{{- end }}

{{- define "controlPlane.machineTemplateName" -}}
{{- $spec := include "controlPlane.machineTemplateSpec" . -}}
{{- include "name.hashed" (list . "control-plane" $spec) -}}
{{- end }}
