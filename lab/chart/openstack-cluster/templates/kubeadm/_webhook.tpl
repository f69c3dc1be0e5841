{{/*
Authorization webhooks. The API server is a static pod that kubeadm writes:
a kubeadm patch mounts the webhook's folder into it.
*/}}
{{- define "kubeadm.webhookDirectories" -}}
{{- if ne .Values.authWebhook "none" -}}
preKubeadmCommands:
  - mkdir -p /etc/kubernetes/webhooks
  - mkdir -p /etc/kubernetes/patches
  {{- if eq .Values.authWebhook "k8s-keystone-auth" }}
  - mkdir -p /etc/kubernetes/keystone-auth
  {{- end }}
{{- end -}}
{{- end }}

{{- define "kubeadm.webhook" -}}
{{- $webhook := .Values.authWebhook -}}
{{- if ne $webhook "none" -}}
{{- $spec := include "webhook.mount" . | fromYaml -}}
{{- if eq $webhook "k8s-keystone-auth" -}}
{{- include "kubeadm.add" (list $spec "webhook.keystone" .) -}}
{{- else if eq $webhook "azimuth-authorization-webhook" -}}
{{- include "kubeadm.add" (list $spec "webhook.azimuth" .) -}}
{{- end -}}
{{- toYaml $spec -}}
{{- end -}}
{{- end }}

{{- define "webhook.mount" -}}
files:
  - path: /etc/kubernetes/patches/kube-apiserver0+strategic.yaml
    owner: root:root
    permissions: "0644"
    content: |
      spec:
        containers:
        - name: kube-apiserver
          volumeMounts:
          - name: kube-webhooks
            mountPath: /etc/kubernetes/webhooks
            readOnly: true
        volumes:
        - name: kube-webhooks
          hostPath:
            path: /etc/kubernetes/webhooks
            type: DirectoryOrCreate
{{- range list "init" "join" }}
{{ . }}Configuration:
  patches:
    directory: /etc/kubernetes/patches
{{- end }}
{{- end }}

{{- /* Keystone's webhook runs in the cluster itself: kubeadm would wait for
it for ever. So its arguments are added when kubeadm is done. */}}
{{- define "webhook.keystone" -}}
{{- $folder := "/etc/kubernetes/keystone-auth" -}}
{{- $manifests := "/etc/kubernetes/manifests" -}}
{{- $config := "/etc/kubernetes/webhooks/keystone_webhook_config.yaml" -}}
files:
  - path: {{ $folder }}/kustomization.yml
    owner: root:root
    permissions: "0644"
    content: |
      resources:
      - kube-apiserver.yaml
      patches:
      - target:
          kind: Pod
        patch: |-
          {{- range list
                (printf "authentication-token-webhook-config-file=%s" $config)
                (printf "authorization-webhook-config-file=%s" $config)
                "authorization-mode=Webhook" }}
          - op: add
            path: /spec/containers/0/command/-
            value: --{{ . }}
          {{- end }}
  - path: {{ $config }}
    owner: root:root
    permissions: "0644"
    content: |
      ---
      {{- include "webhook.kubeconfig" (dict
            "server" "https://127.0.0.1:8443/webhook"
            "insecure-skip-tls-verify" true) | nindent 6 }}
postKubeadmCommands:
  - cp {{ $manifests }}/kube-apiserver.yaml {{ $folder }}/kube-apiserver.yaml
  - kubectl kustomize {{ $folder }} -o {{ $manifests }}/kube-apiserver.yaml
{{- end }}

{{- /* A map: how the API server reaches the webhook. */}}
{{- define "webhook.kubeconfig" -}}
apiVersion: v1
kind: Config
preferences: {}
clusters:
  - name: webhook
    cluster:
      {{- toYaml . | nindent 6 }}
users:
  - name: webhook
contexts:
  - name: webhook
    context:
      cluster: webhook
      user: webhook
current-context: webhook
{{- end }}
