{{/* Operator permissions in namespaces that contain runs. They must be equal to those in `operator/deploy/`. A test checks this. */}}
{{- define "fabricbench.operatorRules" -}}
- apiGroups: [fabricbench.dev]
  resources: [benchmarkruns]
  verbs: [list, watch, patch, delete]  # patch: the finalizer; delete: ttlSecondsAfterFinished
- apiGroups: [fabricbench.dev]
  resources: [benchmarkruns/status]
  verbs: [patch]
- apiGroups: [batch]
  resources: [jobs]
  verbs: [get, list, watch, create, delete]
- apiGroups: [""]
  resources: [services]
  verbs: [get, create, delete]
- apiGroups: [""]
  resources: [configmaps]
  verbs: [get, create, update, delete]  # update: records are appended
- apiGroups: [""]
  resources: [pods]
  verbs: [list, watch]
- apiGroups: [""]
  resources: [pods/log]
  verbs: [get]
- apiGroups: [resource.k8s.io]
  resources: [resourceclaimtemplates]
  verbs: [get, create, delete]  # only for runs that claim devices
- apiGroups: [resource.k8s.io]
  resources: [resourceclaims]
  verbs: [list]  # to record the devices that the workers obtained
- apiGroups: [events.k8s.io]
  resources: [events]
  verbs: [create, patch]
{{- end }}

{{/* User permissions on runs: (dict "verbs" LIST). Users may only read the status. */}}
{{- define "fabricbench.userRules" -}}
- apiGroups: [fabricbench.dev]
  resources: [benchmarkruns]
  verbs: {{ .verbs | toJson }}
- apiGroups: [fabricbench.dev]
  resources: [benchmarkruns/status]
  verbs: [get]
{{- end }}

{{/*
Additional permissions that `fabricbench report` and `fabricbench logs` need. Only namespaced Roles need them: the cluster roles
`view`, `edit` and `admin`, to which the cluster-wide roles are aggregated, already have them.
*/}}
{{- define "fabricbench.reportRules" -}}
- apiGroups: [""]
  resources: [configmaps]
  verbs: [get]  # records, by name
- apiGroups: [""]
  resources: [pods]
  verbs: [get, list, watch]
- apiGroups: [""]
  resources: [pods/log]
  verbs: [get]
{{- end }}

{{/* Roles for users, with their verbs on runs, as JSON. */}}
{{- define "fabricbench.userRoles" -}}
{{- $view := list "get" "list" "watch" }}
{{- $edit := concat $view (list "create" "delete" "patch" "update") }}
{{- dict
  "viewer" (dict "aggregateTo" "view" "verbs" $view)
  "editor" (dict "aggregateTo" "edit" "verbs" $edit)
  "admin" (dict "aggregateTo" "admin" "verbs" (append $edit "deletecollection")) | toJson }}
{{- end }}
