{{- /* Where the API server is reached. */}}
{{- define "openstackCluster.endpoint" -}}
{{- with .Values.controlPlaneEndpoint -}}
controlPlaneEndpoint:
  {{- toYaml . | nindent 2 }}
{{ end -}}
{{- with .Values.apiServer -}}
apiServerLoadBalancer:
  enabled: {{ .enableLoadBalancer }}
  {{- with .loadBalancerProvider }}
  provider: {{ . }}
  {{- end }}
  {{- with .allowedCIDRs }}
  allowedCIDRs:
    {{- toYaml . | nindent 4 }}
  {{- end }}
disableAPIServerFloatingIP: {{ not .associateFloatingIP }}
apiServerPort: {{ int .port }}
{{- with .floatingIP }}
apiServerFloatingIP: {{ . }}
{{- end }}
{{- with .fixedIP }}
apiServerFixedIP: {{ . }}
{{- end }}
{{- end -}}
{{- end }}

{{- /* Rules of the security groups that the provider makes. */}}
{{- define "openstackCluster.rules" -}}
{{- with .Values.clusterNetworking.controlPlaneNodesSecurityGroupRules -}}
{{- fail (print "controlPlaneNodesSecurityGroupRules: the public chart "
      "0.27.0 fails on any value here, so this one does, too") -}}
{{- end -}}
{{- $rules := list -}}
{{- if eq "ovn" (.Values.apiServer.loadBalancerProvider | default "") -}}
{{- range list "tcp" "udp" -}}
{{- $rules = append $rules (include "openstackCluster.nodePortRule" . | fromYaml) -}}
{{- end -}}
{{- end -}}
{{- with concat $rules (.Values.clusterNetworking.workerNodesSecurityGroupRules | default list) -}}
workerNodesSecurityGroupRules:
  {{- toYaml . | nindent 2 }}
{{- end -}}
{{- end }}

{{- /* An OVN load balancer keeps the client's address: the nodes themselves
have to let the world in to their node ports. */}}
{{- define "openstackCluster.nodePortRule" -}}
name: Worker nodePort {{ upper . }}
direction: ingress
etherType: IPv4
protocol: {{ . }}
portRangeMin: 30000
portRangeMax: 32767
remoteIPPrefix: 0.0.0.0/0
{{- end }}
