{{/*
(list ROOT MACHINE DEVICES): spec of an OpenStackMachineTemplate. MACHINE is
.Values.controlPlane or a merged node group; DEVICES are further block devices
by name. The text is hashed into the object's name, so what does not concern
the machine itself (counts, timeouts) has no place here.
*/}}
{{- define "machine.templateSpec" -}}
{{- $root := index . 0 -}}
{{- $machine := index . 1 -}}
{{- $devices := merge (deepCopy (index . 2)) ($machine.additionalBlockDevices | default dict) -}}
template:
  spec:
    identityRef:
      {{- include "capo.identity" $root | nindent 6 }}
    flavor: {{ required
        "machineFlavor is needed for the control plane and each node group"
        $machine.machineFlavor | quote }}
    {{- with $root.Values.machineSSHKeyName }}
    sshKeyName: {{ . | quote }}
    {{- end }}
    {{- if or $machine.machineConfigDrive $devices }}
    configDrive: true
    {{- end }}
    {{- with include "machine.rootVolume" $machine.machineRootVolume }}
    {{- . | nindent 4 }}
    {{- end }}
    image:
      {{- include "machine.image" (list $root $machine) | nindent 6 }}
    {{- with $machine.serverGroupId }}
    serverGroup:
      id: {{ . | quote }}
    {{- end }}
    {{- if $devices }}
    additionalBlockDevices:
      {{- range $name, $device := $devices }}
      -
        {{- include "capo.blockDevice" (list $name $device) | nindent 8 }}
      {{- end }}
    {{- end }}
    {{- with $machine.machineNetworking.ports }}
    ports:
      {{- range . }}
      -
        {{- include "capo.port" . | nindent 8 }}
      {{- end }}
    {{- end }}
    {{- with include "machine.metadata" (list $root $machine) }}
    {{- . | nindent 4 }}
    {{- end }}
{{- end }}

{{- /* Without a size the server boots from the flavor's own disk, whatever
else is said about the volume. */}}
{{- define "machine.rootVolume" -}}
{{- if .diskSize -}}
rootVolume:
  sizeGiB: {{ int .diskSize }}
  {{- with .volumeType }}
  type: {{ . | quote }}
  {{- end }}
  availabilityZone:
    {{- include "capo.volumeZone" .availabilityZone | nindent 4 }}
{{- end -}}
{{- end }}

{{- /* The machine's own image goes before the cluster's; an id before a
name. Names may be templates. */}}
{{- define "machine.image" -}}
{{- $root := first . -}}
{{- $machine := last . -}}
{{- $from := $machine -}}
{{- if not (or $machine.machineImageId $machine.machineImage) -}}
{{- $from = $root.Values -}}
{{- end -}}
{{- if $from.machineImageId -}}
id: {{ $from.machineImageId | quote }}
{{- else -}}
filter:
  {{- $name := required "machineImage or machineImageId is needed" $from.machineImage }}
  name: {{ tpl $name $root | quote }}
{{- end -}}
{{- end }}

{{- define "machine.metadata" -}}
{{- $all := deepCopy ((first .).Values.machineMetadata | default dict) -}}
{{- $all = mergeOverwrite $all (deepCopy ((last .).machineMetadata | default dict)) -}}
{{- with $all -}}
serverMetadata:
  {{- range $key, $value := . }}
  - key: {{ $key | quote }}
    value: {{ $value | quote }}
  {{- end }}
{{- end -}}
{{- end }}

{{- /* A map of labels as the kubelet's --node-labels takes them. */}}
{{- define "machine.nodeLabels" -}}
{{- $pairs := list -}}
{{- range $key, $value := . -}}
{{- $pairs = append $pairs (printf "%s=%s" $key (toString $value)) -}}
{{- end -}}
{{- join "," $pairs -}}
{{- end }}
