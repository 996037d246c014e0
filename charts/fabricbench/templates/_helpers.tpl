{{/* Chart name used in labels. */}}
{{- define "fabricbench.name" -}}
{{- default .Chart.Name .Values.nameOverride | trunc 40 | trimSuffix "-" }}
{{- end }}

{{/* Prefix of all object names, limited in length so that suffixes can be appended. */}}
{{- define "fabricbench.fullname" -}}
{{- if .Values.fullnameOverride }}
{{- .Values.fullnameOverride | trunc 40 | trimSuffix "-" }}
{{- else }}
{{- $name := include "fabricbench.name" . }}
{{- ternary .Release.Name (printf "%s-%s" .Release.Name $name) (contains $name .Release.Name) | trunc 40 | trimSuffix "-" }}
{{- end }}
{{- end }}

{{/* Name of the operator's objects, and of its Lease. */}}
{{- define "fabricbench.operator" -}}
{{ include "fabricbench.fullname" . }}-operator
{{- end }}

{{/* Name of the operator's ServiceAccount. */}}
{{- define "fabricbench.serviceAccount" -}}
{{- if .Values.serviceAccount.create }}
{{- default (include "fabricbench.operator" .) .Values.serviceAccount.name }}
{{- else }}
{{- required "serviceAccount.name: set the name of an existing ServiceAccount, or set serviceAccount.create=true" .Values.serviceAccount.name }}
{{- end }}
{{- end }}

{{/* Who may read the metrics: "authorized" or "anyone". */}}
{{- define "fabricbench.metricsReaders" -}}
{{- if eq .Values.metrics.readers "Auto" }}
{{- ternary "anyone" "authorized" .Values.namespaced.enabled }}
{{- else }}
{{- lower .Values.metrics.readers }}
{{- end }}
{{- end }}

{{/* Selector labels of the release. */}}
{{- define "fabricbench.releaseLabels" -}}
app.kubernetes.io/name: {{ include "fabricbench.name" . | quote }}
app.kubernetes.io/instance: {{ .Release.Name | quote }}
{{- end }}

{{/* Labels that select the operator's pods. They must never change, because the selector of a Deployment is immutable. */}}
{{- define "fabricbench.selectorLabels" -}}
{{ include "fabricbench.releaseLabels" . }}
app.kubernetes.io/component: operator
{{- end }}

{{/* Labels of an object: (dict "root" $ "component" NAME "labels" MORE). The last two keys are optional. */}}
{{- define "fabricbench.labels" -}}
{{- $own := dict
  "app.kubernetes.io/name" (include "fabricbench.name" .root)
  "app.kubernetes.io/instance" .root.Release.Name
  "app.kubernetes.io/version" (.root.Chart.AppVersion | toString)
  "app.kubernetes.io/part-of" "fabricbench"
  "app.kubernetes.io/managed-by" .root.Release.Service
  "app.kubernetes.io/component" (default "operator" .component)
  "helm.sh/chart" (printf "%s-%s" .root.Chart.Name .root.Chart.Version | replace "+" "_" | trunc 63 | trimSuffix "-") }}
{{- toYaml (merge $own (default dict .labels) .root.Values.commonLabels) }}
{{- end }}

{{/*
Metadata of an object: (dict "root" $ "suffix" SUFFIX "namespace" NAMESPACE "component" COMPONENT "labels" MORE
"annotations" MORE). All keys except the first are optional. The name is the value of "name" or, by default, the full name with the suffix (default: operator).
Cluster-scoped objects have no namespace.
*/}}
{{- define "fabricbench.metadata" -}}
name: {{ default (printf "%s-%s" (include "fabricbench.fullname" .root) (default "operator" .suffix)) .name | quote }}
{{- with .namespace }}
namespace: {{ quote . }}
{{- end }}
labels:
  {{- include "fabricbench.labels" . | nindent 2 }}
{{- with merge (dict) (default dict .annotations) .root.Values.commonAnnotations }}
annotations:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- end }}

{{/* Image reference with the digest if it is set, or otherwise with the tag: (dict "root" $ "image" IMAGE). */}}
{{- define "fabricbench.image" -}}
{{- if .image.digest }}
{{- printf "%s@%s" .image.repository .image.digest }}
{{- else }}
{{- printf "%s:%s" .image.repository (default .root.Chart.AppVersion .image.tag) }}
{{- end }}
{{- end }}

{{/* Address of the directory with the pages of the documentation. */}}
{{- define "fabricbench.docsUrl" -}}
{{- default (printf "%s/docs" .Chart.Home) .Values.docsUrl }}
{{- end }}

{{/* Content of a file with the documentation URL replaced by the configured one: (dict "root" $ "path" PATH). */}}
{{- define "fabricbench.fileWithDocsUrl" -}}
{{- .root.Files.Get .path | replace (printf "%s/docs" .root.Chart.Home) (include "fabricbench.docsUrl" .root) }}
{{- end }}

{{/* Managed namespaces as a JSON list. Used only with namespaced.enabled. */}}
{{- define "fabricbench.namespaces" -}}
{{- default (list .Release.Namespace) .Values.namespaced.namespaces | uniq | toJson }}
{{- end }}

{{/* Security context of all containers in the chart. */}}
{{- define "fabricbench.containerSecurityContext" -}}
allowPrivilegeEscalation: false
readOnlyRootFilesystem: true
capabilities:
  drop: [ALL]
{{- end }}

{{/* Security context of a pod. runAsNonRoot cannot be changed by values. */}}
{{- define "fabricbench.podSecurityContext" -}}
{{- toYaml (merge (dict "runAsNonRoot" true) .Values.podSecurityContext) }}
{{- end }}

{{/* Fails if a CRD of the Prometheus operator is missing: (dict "root" $ "kind" KIND "key" VALUE). */}}
{{- define "fabricbench.requireMonitoring" -}}
{{- if not (.root.Capabilities.APIVersions.Has (printf "monitoring.coreos.com/v1/%s" .kind)) }}
{{- fail (printf "%s: the cluster has no %s (monitoring.coreos.com/v1). Install the Prometheus operator first; with `helm template`, add --api-versions monitoring.coreos.com/v1/%s" .key .kind .kind) }}
{{- end }}
{{- end }}

{{/* Rejects invalid values for which the schema cannot produce a useful message. */}}
{{- define "fabricbench.checkValues" -}}
{{- range $key, $image := dict "image" .Values.image "runner.image" .Values.runner.image }}
{{- if and (hasPrefix "fabricbench.dev/" $image.repository) (not $image.tag) (not $image.digest) }}
{{- fail (printf "%s.tag: no image is published as %s. Build the images and push them to your registry (%s/install.html#images), and set %s.repository and %s.tag or %s.digest" $key $image.repository (include "fabricbench.docsUrl" $) $key $key $key) }}
{{- end }}
{{- end }}
{{- if and (gt (int .Values.replicas) 1) (not .Values.leaderElection.enabled) }}
{{- fail (printf "replicas: %d replicas need leader election. Set leaderElection.enabled=true, or replicas=1" (int .Values.replicas)) }}
{{- end }}
{{- range $index, $variable := .Values.operator.extraEnv }}
{{- if hasPrefix "FABRICBENCH_" $variable.name }}
{{- fail (printf "operator.extraEnv[%d].name: %s is reserved: variables that start with FABRICBENCH_ are set by the chart. Remove it, and set the corresponding chart value" $index $variable.name) }}
{{- end }}
{{- end }}
{{- end }}
