{{/*
An addon is an object for the addon provider, which watches the management
cluster and installs charts or manifests in the workload cluster. It renders
values and manifests with Jinja2 first, knowing `cluster`, `infra_cluster` and
`cloud_identity`; that is what doubly quoted braces in these files are for.
*/}}

{{- /* Clients find addons by capi.stackhpc.com: not .Values.projectPrefix. */}}
{{- define "addon.cluster" -}}
{{- include "name.cut" (.Values.addons.clusterName | default .Release.Name) -}}
{{- end }}

{{- /* (list ROOT NAME) */}}
{{- define "addon.name" -}}
{{- include "name.cut" (printf "%s-%s" (include "addon.cluster" (first .)) (last .)) -}}
{{- end }}

{{- /* (list ROOT COMPONENT) */}}
{{- define "addon.labels" -}}
helm.sh/chart: {{ printf "addons-%s" (first .).Chart.Version | replace "+" "_" }}
capi.stackhpc.com/managed-by: {{ (first .).Release.Service }}
capi.stackhpc.com/cluster: {{ include "addon.cluster" (first .) }}
capi.stackhpc.com/component: {{ last . }}
{{- end }}

{{/*
A HelmRelease and the Secret with its values.
root, name:  this chart's root context, the addon's name
addon:       its node of the values: chart and release {namespace, values}
defaults:    YAML text that the values override; may have Jinja2 in it
*/}}
{{- define "addon.helmRelease" -}}
{{- $config := printf "%s-config" .name -}}
{{- $release := .addon.release }}
---
apiVersion: v1
kind: Secret
metadata:
  name: {{ include "addon.name" (list .root $config) }}
  labels:
    {{- include "addon.labels" (list .root .name) | nindent 4 }}
    addons.stackhpc.com/watch: ""
stringData:
  {{- if hasKey . "defaults" }}
  defaults: |
    {{- .defaults | trim | default "{}" | nindent 4 }}
  {{- end }}
  overrides: |
    {{- $release.values | default dict | toYaml | nindent 4 }}
{{- $sources := hasKey . "defaults" | ternary (list "defaults" "overrides") (list "overrides") }}
{{- include "addon.release" (merge (dict "config" $config "sources" $sources) .) }}
{{- end }}

{{- /* The HelmRelease alone; config and sources name the Secret's keys. */}}
{{- define "addon.release" }}
---
apiVersion: addons.stackhpc.com/v1alpha1
kind: HelmRelease
metadata:
  name: {{ include "addon.name" (list .root .name) }}
  labels:
    {{- include "addon.labels" (list .root .name) | nindent 4 }}
spec:
  clusterName: {{ include "addon.cluster" .root }}
  bootstrap: true
  chart:
    {{- toYaml .addon.chart | nindent 4 }}
  targetNamespace: {{ .addon.release.namespace }}
  releaseName: {{ .name }}
  valuesSources:
    {{- $secret := include "addon.name" (list .root .config) }}
    {{- range .sources }}
    - secret:
        name: {{ $secret }}
        key: {{ . }}
    {{- end }}
{{- end }}

{{/*
Manifests: root, name, namespace, template (YAML text, may have Jinja2 in it);
component and releaseName are the name if not given.
*/}}
{{- define "addon.manifests" }}
---
apiVersion: addons.stackhpc.com/v1alpha1
kind: Manifests
metadata:
  name: {{ include "addon.name" (list .root .name) }}
  labels:
    {{- include "addon.labels" (list .root (.component | default .name)) | nindent 4 }}
spec:
  clusterName: {{ include "addon.cluster" .root }}
  bootstrap: true
  targetNamespace: {{ .namespace }}
  releaseName: {{ .releaseName | default .name }}
  manifestSources:
    - template: |
        {{- .template | trim | nindent 8 }}
{{- end }}

{{- /* Reloader, if it is there, restarts what this is set on. */}}
{{- define "addon.reloadOnCloudConfig" -}}
{{- if .Values.addons.reloader.enabled -}}
commonAnnotations:
  secret.reloader.stakater.com/reload: cloud-config
{{- end -}}
{{- end }}

{{- /* (list CLASS PROVISIONER PARAMETERS) */}}
{{- define "addon.storageClass" -}}
{{- $class := index . 0 -}}
---
apiVersion: storage.k8s.io/v1
kind: StorageClass
metadata:
  name: {{ $class.name }}
  annotations:
    storageclass.kubernetes.io/is-default-class: {{ $class.isClusterDefault | default false | quote }}
provisioner: {{ index . 1 }}
{{- $parameters := dict }}
{{- range $key, $value := index . 2 }}
{{- if $value }}{{ $_ := set $parameters $key (toString $value) }}{{ end }}
{{- end }}
{{- with $parameters }}
parameters:
  {{- toYaml . | nindent 2 }}
{{- end }}
reclaimPolicy: {{ $class.reclaimPolicy | default "Delete" }}
allowVolumeExpansion: {{ dig "allowVolumeExpansion" true $class }}
volumeBindingMode: {{ $class.volumeBindingMode | default "WaitForFirstConsumer" }}
{{- with $class.allowedTopologies }}
allowedTopologies:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{ end }}
