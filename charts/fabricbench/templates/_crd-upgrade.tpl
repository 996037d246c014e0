{{/* Name of the objects that upgrade the CustomResourceDefinition. */}}
{{- define "fabricbench.crdUpgrade" -}}
{{ include "fabricbench.fullname" . }}-crd-upgrade
{{- end }}

{{/* Metadata of the pre-upgrade hook's objects, which exist only while the hook runs: (dict "root" $ "weight" ORDER "namespace" NAMESPACE). */}}
{{- define "fabricbench.crdUpgradeMetadata" -}}
{{- include "fabricbench.metadata" (dict "root" .root "namespace" .namespace
  "suffix" "crd-upgrade"
  "component" "crd-upgrade"
  "annotations" (dict
    "helm.sh/hook" "pre-upgrade"
    "helm.sh/hook-weight" (.weight | toString)
    "helm.sh/hook-delete-policy" "before-hook-creation,hook-succeeded")) }}
{{- end }}
