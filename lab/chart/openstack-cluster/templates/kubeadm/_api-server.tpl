{{- define "kubeadm.apiServer" -}}
{{- $directory := "/etc/kubernetes/admission" -}}
clusterConfiguration:
  apiServer:
    extraArgs:
      v: {{ .Values.apiServer.logLevel | quote }}
      admission-control-config-file: {{ $directory }}/configuration.yaml
      {{- with .Values.oidc }}
      {{- if .issuerUrl }}
      oidc-issuer-url: {{ .issuerUrl | quote }}
      oidc-client-id: {{ required "oidc.clientId is needed with oidc.issuerUrl" .clientId | quote }}
      oidc-username-claim: {{ .usernameClaim | quote }}
      oidc-username-prefix: {{ .usernamePrefix | quote }}
      oidc-groups-claim: {{ .groupsClaim | quote }}
      oidc-groups-prefix: {{ .groupsPrefix | quote }}
      oidc-signing-algs: {{ .signingAlgs | quote }}
      {{- end }}
      {{- end }}
    extraVolumes:
      - name: admission-configuration
        hostPath: {{ $directory }}
        mountPath: {{ $directory }}
        pathType: Directory
        readOnly: true
files:
  - path: {{ $directory }}/configuration.yaml
    owner: root:root
    permissions: "0644"
    contentFrom:
      secret:
        name: {{ include "name.component" (list . "admission-configuration") }}
        key: admission-configuration.yaml
{{- end }}
