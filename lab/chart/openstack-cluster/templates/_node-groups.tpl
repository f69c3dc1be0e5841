{{/*
{groups: [...]}: every node group merged over nodeGroupDefaults and checked.

mustMerge takes false, 0 and "" of a group for "not given", so a default that
is true can't be switched off by one group. The public chart is like that, and
what drives it has to cope: keep it.
*/}}
{{- define "nodeGroups" -}}
{{- $groups := list -}}
{{- range .Values.nodeGroups -}}
{{- $group := mustMerge (deepCopy .) (deepCopy $.Values.nodeGroupDefaults) -}}
{{- include "nodeGroups.check" $group -}}
{{- $groups = append $groups $group -}}
{{- end -}}
{{- dict "groups" $groups | toYaml -}}
{{- end }}

{{- define "nodeGroups.check" -}}
{{- $name := required "a node group needs a name" .name -}}
{{- if not (regexMatch "^[a-z][a-z0-9\\-]+[a-z0-9]$" $name) -}}
{{- fail (printf "node group name %q: %s" $name
      "at least three of a-z 0-9 -, a letter first, no - at the end") -}}
{{- end -}}
{{- if .autoscale -}}
{{- include "nodeGroups.checkBounds" . -}}
{{- else if not (hasKey . "machineCount") -}}
{{- fail (printf "node group %s: machineCount is needed without autoscale" $name) -}}
{{- end -}}
{{- end }}

{{- define "nodeGroups.checkBounds" -}}
{{- $group := . -}}
{{- range list "machineCountMin" "machineCountMax" -}}
{{- $bound := get $group . -}}
{{- if not (or (kindIs "float64" $bound) (kindIs "int64" $bound)) -}}
{{- fail (printf "node group %s: autoscale needs %s as a number" $group.name .) -}}
{{- end -}}
{{- end -}}
{{- if lt (int .machineCountMin) 0 -}}
{{- fail (printf "node group %s: machineCountMin is below 0" .name) -}}
{{- end -}}
{{- if lt (int .machineCountMax) (int .machineCountMin) -}}
{{- fail (printf "node group %s: machineCountMax is below machineCountMin" .name) -}}
{{- end -}}
{{- end }}
