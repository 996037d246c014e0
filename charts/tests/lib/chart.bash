# shellcheck shell=bash
# Shared by the chart tests: location of the chart, and functions that render it without a cluster.

ROOT=$(cd "$(dirname "${BASH_SOURCE[0]}")/../../.." && pwd)
CHART=$ROOT/charts/fabricbench
# Tags of the images, which have no default. Later values files replace them.
IMAGES=$ROOT/charts/tests/images.yaml
# The testbed's Kubernetes version. By default, helm assumes the version of its Kubernetes client library.
KUBERNETES_VERSION=$("$ROOT/testbed/testbed" version)

# rendered ARGUMENT...: prints the manifests that an installation with these Helm arguments would apply to a cluster in which
# the CRDs of the Prometheus Operator are installed.
rendered() {
    helm template fabricbench "$CHART" --namespace fabricbench-system --kube-version "$KUBERNETES_VERSION" --values "$IMAGES" \
        --api-versions monitoring.coreos.com/v1/ServiceMonitor,monitoring.coreos.com/v1/PrometheusRule "$@"
}

# json: prints each YAML document on standard input as a line of JSON.
json() { yq --compact-output 'select(. != null)'; }

# values_files: prints the paths of all valid values files, including an empty file for the defaults.
values_files() { printf '%s\n' /dev/null "$ROOT"/charts/tests/values/*.yaml; }

# conform: validates the manifests on standard input against the API server's schemas or those in charts/tests/schemas.
conform() {
    kubeconform -strict -summary -output text \
        -schema-location "$FABRICBENCH_KUBERNETES_SCHEMAS/{{ .ResourceKind }}{{ .KindSuffix }}.json" \
        -schema-location "$ROOT/charts/tests/schemas/{{ .ResourceKind }}{{ .KindSuffix }}.json"
}

# permissions_of ACCOUNT: prints the permissions of the service account in the manifests on standard input, one per line.
permissions_of() {
    json | jq --slurp --raw-output --arg account "$1" '
        . as $all
        | $all[] | select(.kind | IN("RoleBinding", "ClusterRoleBinding"))
        | select(any(.subjects[]; .kind == "ServiceAccount" and .name == $account)) | . as $binding
        | $all[] | select(.kind == $binding.roleRef.kind and .metadata.name == $binding.roleRef.name
            and .metadata.namespace == $binding.metadata.namespace) | . as $role
        | .rules[] | . as $rule
        | .apiGroups[] as $group | .resources[] as $resource | ($rule.resourceNames // ["*"])[] as $name | .verbs[]
        | "\($role.metadata.namespace // "all namespaces"): \(.) \($group)/\($resource) \($name)"' | sort -u
}
