{{/*
How the OpenStack provider's v1beta1 refers to OpenStack resources: by
{id: ...} or by {filter: {...}}. Values may also have the older flat form
({name: ..., tags: "a,b"}); it is converted.
*/}}
{{- define "capo.reference" -}}
{{- if .id -}}
id: {{ .id | quote }}
{{- else if .filter -}}
filter: {{- include "capo.filter" .filter | nindent 2 }}
{{- else -}}
filter: {{- include "capo.filter" . | nindent 2 }}
{{- end -}}
{{- end }}

{{- define "capo.filter" -}}
{{- $renamed := dict "projectId" "projectID" "gateway_ip" "gatewayIP" -}}
{{- $tagKeys := list "tags" "tagsAny" "notTags" "notTagsAny" -}}
{{- $filter := dict -}}
{{- range $key, $value := . -}}
{{- $split := and (has $key $tagKeys) (kindIs "string" $value) -}}
{{- $value = $split | ternary (splitList "," (toString $value)) $value -}}
{{- $_ := set $filter (get $renamed $key | default $key) $value -}}
{{- end -}}
{{- toYaml $filter -}}
{{- end }}

{{- /* One of machineNetworking.ports. {} stands for the cluster's network.
Only the network has a flat form; the rest is passed on as it is. */}}
{{- define "capo.port" -}}
{{- $port := deepCopy . -}}
{{- with $port.network -}}
{{- $_ := set $port "network" (include "capo.reference" . | fromYaml) -}}
{{- end -}}
{{- toYaml $port -}}
{{- end }}

{{- /* An availability zone of a volume: a name, the API's own form, or (when
not given) the one that the machine is in. */}}
{{- define "capo.volumeZone" -}}
{{- if kindIs "map" . -}}
{{- toYaml . -}}
{{- else if . -}}
from: Name
name: {{ . | quote }}
{{- else -}}
from: Machine
{{- end -}}
{{- end }}

{{- /* (list NAME DEVICE) */}}
{{- define "capo.blockDevice" -}}
{{- $device := last . -}}
{{- $type := $device.type | default "Volume" -}}
name: {{ first . }}
sizeGiB: {{ int $device.size }}
storage:
  type: {{ $type }}
  {{- if eq $type "Volume" }}
  volume:
    {{- with $device.volumeType }}
    type: {{ . | quote }}
    {{- end }}
    availabilityZone:
      {{- include "capo.volumeZone" $device.availabilityZone | nindent 6 }}
  {{- end }}
{{- end }}

{{- define "capo.identity" -}}
name: {{ include "name.credentials" . }}
{{- /* not .Values.cloudName: the public chart fixes it here, too */}}
cloudName: openstack
{{- end }}
