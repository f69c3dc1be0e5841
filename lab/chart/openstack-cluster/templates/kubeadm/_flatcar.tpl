{{/*
Flatcar knows no cloud-init: kubeadm's configuration arrives through Ignition,
with a variable instead of the host name. The name that the metadata service
gives has a domain, which kubelet must not see.
*/}}
{{- define "kubeadm.flatcar" -}}
{{- if eq .Values.osDistro "flatcar" -}}
format: ignition
ignition:
  containerLinuxConfig:
    additionalConfig: |-
      systemd:
        units:
        - name: coreos-metadata-sshkeys@.service
          enabled: true
        - name: kubeadm.service
          enabled: true
          dropins:
          - name: 10-flatcar.conf
            contents: |
              [Unit]
              Requires=containerd.service coreos-metadata.service
              After=containerd.service coreos-metadata.service
              [Service]
              EnvironmentFile=/run/metadata/flatcar
joinConfiguration:
  nodeRegistration:
    name: ${COREOS_OPENSTACK_HOSTNAME}
preKubeadmCommands:
  - export COREOS_OPENSTACK_HOSTNAME=${COREOS_OPENSTACK_HOSTNAME%.*}
  - envsubst < /etc/kubeadm.yml > /etc/kubeadm.yml.tmp
  - mv /etc/kubeadm.yml.tmp /etc/kubeadm.yml
{{- end -}}
{{- end }}

{{- define "kubeadm.flatcarFirstNode" -}}
{{- if eq .Values.osDistro "flatcar" -}}
initConfiguration:
  nodeRegistration:
    name: ${COREOS_OPENSTACK_HOSTNAME}
{{- end -}}
{{- end }}
