# shellcheck shell=bash
# Shared functions of the chart's tests: its location, and rendering without a cluster.

ROOT=$(cd "$(dirname "${BASH_SOURCE[0]}")/../../.." && pwd)
CHART=$ROOT/charts/fabricbench
# The version of the testbed. By default helm uses the version of the library it was built with.
KUBERNETES_VERSION=$(awk '$1 == "k8s.io/kubernetes" {print $2}' "$ROOT/testbed/tools/kubernetes/go.mod")

# rendered ARGUMENT...: the chart's manifests, as an installation with these arguments of helm would apply them to a cluster
# that has the Prometheus operator's resources.
rendered() {
    helm template fabricbench "$CHART" --namespace fabricbench-system --kube-version "$KUBERNETES_VERSION" \
        --api-versions monitoring.coreos.com/v1/ServiceMonitor,monitoring.coreos.com/v1/PrometheusRule "$@"
}

# json: each document of YAML on standard input as a line of JSON.
json() { yq --compact-output 'select(. != null)'; }

# values_files: the defaults (as an empty file), and each valid values file.
values_files() { printf '%s\n' /dev/null "$ROOT"/charts/tests/values/*.yaml; }

# conform: checks manifests on standard input against the schemas of the API server, and charts/tests/schemas for others.
conform() {
    kubeconform -strict -summary -output text \
        -schema-location "$FABRICBENCH_KUBERNETES_SCHEMAS/{{ .ResourceKind }}{{ .KindSuffix }}.json" \
        -schema-location "$ROOT/charts/tests/schemas/{{ .ResourceKind }}{{ .KindSuffix }}.json"
}

# rights ACCOUNT: permissions of the account in the manifests on standard input, one per line.
rights() {
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
