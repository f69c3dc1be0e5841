{{/*
Azimuth's webhook is asked through a structured authorization configuration,
and only about the namespaces that it guards.
*/}}
{{- define "webhook.azimuth" -}}
clusterConfiguration:
  apiServer:
    extraArgs:
      authorization-config: /etc/kubernetes/webhooks/authorization.yaml
files:
  - path: /etc/kubernetes/webhooks/authorization.yaml
    owner: root:root
    permissions: "0644"
    content: |
      {{- include "webhook.azimuthAuthorizers" .Values.azimuthAuthorizationWebhook | nindent 6 }}
  - path: /etc/kubernetes/webhooks/azimuth.kubeconfig
    owner: root:root
    permissions: "0644"
    content: |
      {{- include "webhook.azimuthKubeconfig" .Values.azimuthAuthorizationWebhook | nindent 6 }}
{{- end }}

{{- define "webhook.azimuthAuthorizers" -}}
apiVersion: apiserver.config.k8s.io/v1
kind: AuthorizationConfiguration
authorizers:
  - type: Webhook
    name: azimuth
    webhook:
      timeout: {{ .timeout }}
      failurePolicy: {{ .failurePolicy }}
      subjectAccessReviewVersion: {{ .webhookVersion }}
      matchConditionSubjectAccessReviewVersion: {{ .webhookVersion }}
      connectionInfo:
        type: KubeConfigFile
        kubeConfigFile: /etc/kubernetes/webhooks/azimuth.kubeconfig
      matchConditions:
        - expression: has(request.resourceAttributes)
        {{- with .filteredNamespaces }}
        - expression: request.resourceAttributes.namespace in {{ toJson . }}
        {{- end }}
        {{- range .extraPreFilters }}
        - expression: {{ . | quote }}
        {{- end }}
  {{- with .additionalAuthorizers }}
  {{- toYaml . | nindent 2 }}
  {{- end }}
{{- end }}

{{- define "webhook.azimuthKubeconfig" -}}
{{- $cluster := dict "server" (required "azimuthAuthorizationWebhook.server is needed" .server) -}}
{{- if not .tls.enabled -}}
{{- $_ := set $cluster "insecure-skip-tls-verify" true -}}
{{- else if .tls.cert -}}
{{- $_ := set $cluster "certificate-authority-data" (b64enc .tls.cert) -}}
{{- end -}}
{{- include "webhook.kubeconfig" $cluster -}}
{{- end }}
