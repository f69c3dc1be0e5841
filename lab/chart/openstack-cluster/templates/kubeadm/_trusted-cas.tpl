{{- define "kubeadm.trustedCAs" -}}
{{- with .Values.trustedCAs -}}
files:
  {{- range $name, $pem := . }}
  - path: /usr/local/share/ca-certificates/{{ $name }}.crt
    owner: root:root
    permissions: "0644"
    content: {{ $pem | quote }}
  {{- end }}
preKubeadmCommands:
  - update-ca-certificates
{{- end -}}
{{- end }}

{{- define "kubeadm.packages" -}}
{{- with .Values.additionalPackages -}}
preKubeadmCommands:
  - apt update -y
  - apt install -y {{ join " " . }}
{{- end -}}
{{- end }}
