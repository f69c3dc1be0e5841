{{- define "kubeadm.etcd" -}}
{{- $etcd := .Values.etcd -}}
clusterConfiguration:
  etcd:
    local:
      dataDir: {{ $etcd.dataDir }}
      {{- with $etcd.extraArgs }}
      extraArgs:
        {{- range $key, $value := . }}
        {{ $key }}: {{ toString $value | quote }}
        {{- end }}
      {{- end }}
{{- if $etcd.blockDevice }}
diskSetup:
  filesystems:
    - device: /dev/disk/openstack/by-tag/etcd
      filesystem: ext4
      label: etcd_disk
mounts:
  - [LABEL=etcd_disk, {{ $etcd.dataDir }}]
{{- /* A mounted file system is never empty: it has lost+found. */}}
{{- range list "init" "join" }}
{{ . }}Configuration:
  nodeRegistration:
    ignorePreflightErrors:
      - diravailable-{{ $etcd.dataDir | replace "/" "-" }}
{{- end }}
{{- end }}
{{- end }}

{{/*
Encryption at rest. The key has to exist before the chart runs, in a Secret
that no release owns: a key that changes with a release makes old data
unreadable. It is 32 raw bytes: both a Secret and the API server's file have
them in base64. `helm template` never finds it, for it asks no cluster.
*/}}
{{- define "kubeadm.etcdEncryption" -}}
{{- with .Values.etcd.encryption -}}
{{- if .enabled -}}
{{- $name := printf "%s-etcd-key" $.Release.Name -}}
{{- $secret := lookup "v1" "Secret" $.Release.Namespace $name -}}
{{- if not $secret -}}
{{- fail (printf "etcd.encryption needs the Secret %s with the data \"key\"" $name) -}}
{{- end -}}
clusterConfiguration:
  apiServer:
    extraArgs:
      encryption-provider-config: /etc/kubernetes/encryption/configuration.yaml
    extraVolumes:
      - name: encryption-configuration
        hostPath: /etc/kubernetes/encryption
        mountPath: /etc/kubernetes/encryption
        pathType: Directory
        readOnly: true
files:
  - path: /etc/kubernetes/encryption/configuration.yaml
    owner: root:root
    permissions: "0600"
    content: |
      apiVersion: apiserver.config.k8s.io/v1
      kind: EncryptionConfiguration
      resources:
        - resources: {{ toJson .resources }}
          providers:
            - {{ .provider }}:
                keys:
                  - name: key1
                    secret: {{ $secret.data.key | quote }}
            - identity: {}
{{- end -}}
{{- end -}}
{{- end }}
