{{/* Selects the pods of all runs by the label that contains the run's UID. */}}
{{- define "fabricbench.runnerSelector" -}}
matchLabels:
  app.kubernetes.io/managed-by: fabricbench
matchExpressions:
- key: fabricbench.dev/run-uid
  operator: Exists
{{- end }}

{{/* Egress rule for DNS. */}}
{{- define "fabricbench.dnsEgress" -}}
- ports:
  {{- range .Values.networkPolicy.dns.ports }}
  - port: {{ . }}
    protocol: UDP
  - port: {{ . }}
    protocol: TCP
  {{- end }}
  {{- with .Values.networkPolicy.dns.to }}
  to:
  {{- toYaml . | nindent 2 }}
  {{- end }}
{{- end }}
