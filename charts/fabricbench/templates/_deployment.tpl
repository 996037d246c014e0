{{/* Environment variables of the operator, which set all of its command-line options. */}}
{{- define "fabricbench.operatorEnv" -}}
- name: FABRICBENCH_RUNNER_IMAGE
  value: {{ include "fabricbench.image" (dict "root" $ "image" .Values.runner.image) | quote }}
{{- with .Values.runner.imagePullPolicy }}
- name: FABRICBENCH_IMAGE_PULL_POLICY
  value: {{ . | quote }}
{{- end }}
{{- with .Values.runner.imagePullSecrets }}
- name: FABRICBENCH_IMAGE_PULL_SECRETS
  value: {{ join "," . | quote }}
{{- end }}
{{- with .Values.runner.allowedImages }}
- name: FABRICBENCH_ALLOWED_IMAGES
  value: {{ join "," . | quote }}
{{- end }}
{{- with .Values.runner.allowedEnv }}
- name: FABRICBENCH_ALLOWED_ENV
  value: {{ join "," . | quote }}
{{- end }}
- name: FABRICBENCH_COMMANDS
  value: {{ .Values.runner.commands | quote }}
{{- if .Values.runner.ipcLock }}
- name: FABRICBENCH_IPC_LOCK
  value: "true"
{{- end }}
- name: FABRICBENCH_DEFAULT_CPUS
  value: {{ .Values.runner.defaults.cpus | int | quote }}
- name: FABRICBENCH_DEFAULT_MEMORY
  value: {{ .Values.runner.defaults.memory | quote }}
{{- if .Values.namespaced.enabled }}
- name: FABRICBENCH_NAMESPACES
  value: {{ include "fabricbench.namespaces" . | fromJsonArray | join "," | quote }}
{{- end }}
- name: FABRICBENCH_LISTEN
  value: 0.0.0.0:8080
- name: FABRICBENCH_METRICS_READERS
  value: {{ include "fabricbench.metricsReaders" . | quote }}
{{- if .Values.leaderElection.enabled }}
- name: FABRICBENCH_LEASE_NAME
  value: {{ include "fabricbench.operator" . | quote }}
- name: FABRICBENCH_LEASE_NAMESPACE
  valueFrom:
    fieldRef:
      fieldPath: metadata.namespace
{{- else }}
- name: FABRICBENCH_NO_LEADER_ELECTION
  value: "true"
{{- end }}
- name: FABRICBENCH_CONCURRENCY
  value: {{ .Values.operator.concurrency | int | quote }}
- name: FABRICBENCH_EVALUATION_THREADS
  value: {{ .Values.operator.evaluationThreads | int | quote }}
- name: FABRICBENCH_CLIENT_QPS
  value: {{ .Values.operator.clientQps | int | quote }}
- name: FABRICBENCH_CLIENT_BURST
  value: {{ .Values.operator.clientBurst | int | quote }}
- name: FABRICBENCH_MAX_SERIES_PER_RUN
  value: {{ .Values.operator.maxSeriesPerRun | int | quote }}
- name: FABRICBENCH_MAX_SERIES
  value: {{ .Values.operator.maxSeries | int | quote }}
- name: FABRICBENCH_LOG_FORMAT
  value: {{ .Values.operator.logFormat | quote }}
{{- with .Values.operator.logFilter }}
- name: RUST_LOG
  value: {{ . | quote }}
{{- end }}
{{- with .Values.operator.extraEnv }}
{{ toYaml . }}
{{- end }}
{{- end }}

{{/* Affinity of the operator's pods: the configured affinity, or a preference for different nodes. */}}
{{- define "fabricbench.affinity" -}}
{{- if .Values.affinity }}
{{- toYaml .Values.affinity }}
{{- else if gt (int .Values.replicas) 1 -}}
podAntiAffinity:
  preferredDuringSchedulingIgnoredDuringExecution:
  - weight: 100
    podAffinityTerm:
      topologyKey: kubernetes.io/hostname
      labelSelector:
        matchLabels:
          {{- include "fabricbench.selectorLabels" . | nindent 10 }}
{{- end }}
{{- end }}

{{/* Topology spread constraints, each with a label selector. */}}
{{- define "fabricbench.topologySpreadConstraints" -}}
{{- $selector := dict "matchLabels" (include "fabricbench.selectorLabels" . | fromYaml) }}
{{- $constraints := list }}
{{- range .Values.topologySpreadConstraints }}
{{- $constraints = append $constraints (hasKey . "labelSelector" | ternary . (set (deepCopy .) "labelSelector" $selector)) }}
{{- end }}
{{- toYaml $constraints }}
{{- end }}
