{{/*
Names. Kubernetes refuses more than 63 characters in a label, and every name
here is used as one somewhere, so all are cut alike. Cut names can collide:
whoever chooses the release name has to leave room.
*/}}
{{- define "name.cut" -}}
{{- trunc 63 . | trimSuffix "-" -}}
{{- end }}

{{- define "name.cluster" -}}
{{- include "name.cut" .Release.Name -}}
{{- end }}

{{- /* (list ROOT COMPONENT) */}}
{{- define "name.component" -}}
{{- include "name.cut" (printf "%s-%s" (first .).Release.Name (last .)) -}}
{{- end }}

{{- /* (list ROOT COMPONENT SPEC), SPEC being text. Cluster API never looks
into a template that it has used: only another name makes it replace
machines. The hash comes after the cut, or long names would lose it. */}}
{{- define "name.hashed" -}}
{{- $name := include "name.component" (list (index . 0) (index . 1)) -}}
{{- printf "%s-%s" $name (index . 2 | sha256sum | trunc 8) -}}
{{- end }}

{{- define "name.credentials" -}}
{{- $own := include "name.component" (list . "cloud-credentials") -}}
{{- .Values.cloudCredentialsSecretName | default $own -}}
{{- end }}

{{/*
Labels.
*/}}
{{- define "labels.selector" -}}
{{- $prefix := (first .).Values.projectPrefix -}}
{{ $prefix }}/cluster: {{ include "name.cluster" (first .) }}
{{ $prefix }}/component: {{ last . }}
{{- end }}

{{- define "labels.cluster" -}}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version | replace "+" "_" }}
{{ .Values.projectPrefix }}/managed-by: {{ .Release.Service }}
{{ .Values.projectPrefix }}/infrastructure-provider: openstack
{{ .Values.projectPrefix }}/cluster: {{ include "name.cluster" . }}
{{- end }}

{{- /* (list ROOT COMPONENT) */}}
{{- define "labels.component" -}}
{{ include "labels.cluster" (first .) }}
{{ (first .).Values.projectPrefix }}/component: {{ last . }}
{{- end }}

{{- /* (list ROOT GROUP-NAME) */}}
{{- define "labels.groupSelector" -}}
{{ include "labels.selector" (list (first .) "worker") }}
{{ (first .).Values.projectPrefix }}/node-group: {{ last . }}
{{- end }}

{{- define "labels.group" -}}
{{ include "labels.component" (list (first .) "worker") }}
{{ (first .).Values.projectPrefix }}/node-group: {{ last . }}
{{- end }}

{{- /* (list ROOT SPEC): annotations of an object with a hashed name. helm
must not delete the old one while machines made from it are still there. */}}
{{- define "annotations.hashed" -}}
{{ (first .).Values.projectPrefix }}/template-checksum: {{ last . | sha256sum }}
helm.sh/resource-policy: keep
{{- end }}

{{/*
(list BASE OVERLAY): changes BASE. Maps are merged, lists joined (BASE first),
everything else is the overlay's. Returns nothing.
*/}}
{{- define "merge.into" -}}
{{- $base := first . -}}
{{- range $key, $new := last . -}}
{{- $old := get $base $key -}}
{{- if and (kindIs "map" $old) (kindIs "map" $new) -}}
{{- include "merge.into" (list $old $new) -}}
{{- else if and (kindIs "slice" $old) (kindIs "slice" $new) -}}
{{- $_ := set $base $key (concat $old $new) -}}
{{- else -}}
{{- $_ := set $base $key $new -}}
{{- end -}}
{{- end -}}
{{- end }}

{{- /* The version with exactly one leading v, whatever was given. */}}
{{- define "kubernetes.version" -}}
{{- printf "v%s" (. | toString | trimPrefix "v") -}}
{{- end }}
