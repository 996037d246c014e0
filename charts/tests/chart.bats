#!/usr/bin/env bats
# Chart tests that need no cluster. Run by .ci/chart, which provides the tools.

setup() { load lib/chart; }

@test "helm lint accepts every valid values file" {
    for values in $(values_files); do
        # `helm lint` has no option to set the API versions of the cluster, so objects of the Prometheus operator are
        # disabled.
        helm lint --strict --quiet --kube-version "$KUBERNETES_VERSION" "$CHART" --values "$IMAGES" --values "$values" \
            --set prometheus.serviceMonitor.enabled=false,prometheus.rules.enabled=false
    done
}

@test "the chart requires the oldest tested version of Kubernetes, and the documentation lists all tested ones" {
    oldest=$("$ROOT/testbed/testbed" series | head -n 1)
    [ "$(yq -r .kubeVersion "$CHART/Chart.yaml")" = ">=$oldest.0-0" ]
    for series in $("$ROOT/testbed/testbed" series); do
        version=$(FABRICBENCH_TESTBED_KUBERNETES=$series "$ROOT/testbed/testbed" version)
        grep -qF "| ${version#v} |" "$ROOT/docs/kubernetes-versions.md" || { echo "docs/kubernetes-versions.md does not list $version"; false; }
    done
}

@test "unit tests of the templates pass" {
    helm-unittest --strict --color=false "$CHART"
}

@test "every template has unit tests" {
    for template in "$CHART"/templates/[!_]*; do
        name=$(basename "$template")
        test=$CHART/tests/${name%.*}_test.yaml
        [ -e "$test" ] || { echo "$name has no ${test#"$ROOT/"}"; false; }
        grep -qxF "templates: [$name]" "$test"
    done
}

@test "every manifest satisfies the schemas of the API server" {
    for values in $(values_files); do
        rendered --values "$values" | conform
    done
    conform <"$CHART/crds/benchmarkruns.yaml"
    # A values file cannot set the release namespace, so a numeric namespace is tested here.
    rendered --namespace 2024 --set prometheus.serviceMonitor.enabled=true,dashboards.enabled=true | conform
    rendered --namespace 2024 --set namespaced.enabled=true | conform
}

@test "the schemas reject unknown and invalid fields" {
    rendered >"$BATS_TEST_TMPDIR/manifests"
    run conform < <(sed 's/  replicas: 1/  replica: 1/' "$BATS_TEST_TMPDIR/manifests")
    [ "$status" -ne 0 ]
    [[ $output == *"additional properties 'replica' not allowed"* ]]
    run conform < <(sed 's/periodSeconds: 5/periodSeconds: often/' "$BATS_TEST_TMPDIR/manifests")
    [ "$status" -ne 0 ]
    [[ $output == *"readinessProbe/periodSeconds"* ]]
}

@test "invalid values are rejected with a message that contains the key" {
    count=0
    for values in "$ROOT"/charts/tests/wrong-values/*.yaml; do
        key=$(head -n 1 "$values")
        key=${key#\# }
        run rendered --values "$values"
        [ "$status" -ne 0 ] || { echo "${values##*/} is accepted"; false; }
        mentions_key "$key" "$output" || { echo "${values##*/}: the message does not contain $key: $output"; false; }
        # There must be exactly one error, because a second error could hide that the value under test is accepted.
        [ "$(grep -c "^- at '\|execution error at" <<<"$output")" -eq 1 ] || { echo "${values##*/}: $output"; false; }
        count=$((count + 1))
    done
    echo "# $count invalid values files" >&3
    [ "$count" -ge 30 ]
}

# mentions_key KEY MESSAGE: whether the error message names the key. Template errors start with the key. Schema errors
# contain the path of the key, or the path of its parent followed by the key.
mentions_key() {
    local key=$1 parent='' leaf=$1 pointer
    [[ $2 != *"execution error at (fabricbench/templates/"*"): $key: "* ]] || return 0
    pointer=/${key//./\/}
    if [[ $key == *.* ]]; then parent=/$(tr . / <<<"${key%.*}") leaf=${key##*.}; fi
    [[ $2 == *"don't meet the specifications of the schema"* ]] || return 1
    [[ $2 == *"- at '$pointer'"* || $2 == *"- at '$parent': additional properties '$leaf' not allowed"* ||
        $2 == *"- at '$parent': missing propert"*"'$leaf'"* ]]
}

@test "the schema rejects unknown keys at every level" {
    # Only `global` accepts any keys, because Helm writes arbitrary values into it.
    run jq --compact-output '[paths(objects | .type == "object" and .additionalProperties != false)]' "$CHART/values.schema.json"
    [ "$output" = '[["properties","global"]]' ]
}

@test "the chart sets every option of the operator" {
    for values in $(values_files); do rendered --values "$values"; done |
        json | jq --raw-output 'select(.kind == "Deployment") | .spec.template.spec.containers[0].env[].name' |
        grep '^FABRICBENCH_' | sort -u >"$BATS_TEST_TMPDIR/chart"
    grep -oh 'env = "[A-Z_]*"' "$ROOT"/operator/src/commands/{operator,namespaces}.rs | cut -d '"' -f 2 | sort -u | diff - "$BATS_TEST_TMPDIR/chart"
}

@test "the operator has exactly the permissions in operator/deploy" {
    rendered | permissions_of fabricbench-operator >"$BATS_TEST_TMPDIR/chart"
    permissions_of fabricbench-operator <"$ROOT/operator/deploy/cluster.yaml" | diff - "$BATS_TEST_TMPDIR/chart"
    rendered --namespace benchmarks --set namespaced.enabled=true | permissions_of fabricbench-operator >"$BATS_TEST_TMPDIR/chart"
    permissions_of fabricbench-operator <"$ROOT/operator/deploy/namespaced.yaml" | diff - "$BATS_TEST_TMPDIR/chart"
    [ "$(wc -l <"$BATS_TEST_TMPDIR/chart")" -gt 20 ]
}

@test "namespaced mode creates no cluster-scoped objects" {
    rendered --set namespaced.enabled=true | json | jq --raw-output '.kind' | sort -u >"$BATS_TEST_TMPDIR/kinds"
    diff - "$BATS_TEST_TMPDIR/kinds" <<'KINDS'
Deployment
Job
Lease
Role
RoleBinding
Service
ServiceAccount
KINDS
}

@test "every dashboard and every rules file is rendered" {
    rendered --set dashboards.enabled=true,prometheus.rules.enabled=true |
        json | jq --raw-output '"\(.kind) \(.metadata.name)"' >"$BATS_TEST_TMPDIR/rendered"
    for file in "$CHART"/rules/*.yaml; do
        grep -xF "PrometheusRule fabricbench-$(basename "$file" .yaml)" "$BATS_TEST_TMPDIR/rendered"
    done
    for file in "$CHART"/dashboards/*.json; do
        grep -xF "ConfigMap fabricbench-dashboard-$(basename "$file" .json)" "$BATS_TEST_TMPDIR/rendered"
    done
}

@test "rules and dashboards are rendered unchanged" {
    rendered --set dashboards.enabled=true,prometheus.rules.enabled=true | json >"$BATS_TEST_TMPDIR/manifests"
    jq --sort-keys 'select(.kind == "PrometheusRule") | .spec.groups[]' "$BATS_TEST_TMPDIR/manifests" >"$BATS_TEST_TMPDIR/rules"
    for file in "$CHART"/rules/*.yaml; do json <"$file"; done | jq --sort-keys '.groups[]' | diff - "$BATS_TEST_TMPDIR/rules"
    for file in "$CHART"/dashboards/*.json; do
        jq --raw-output --arg key "$(basename "$file")" '.data[$key]? // empty' "$BATS_TEST_TMPDIR/manifests" |
            jq --sort-keys . | diff <(jq --sort-keys . "$file") -
    done
}

@test "README.md is current and describes every value" {
    "$ROOT/.ci/chart-readme" | diff "$CHART/README.md" -
    [ "$(grep -cE '^\| .[A-Za-z.]+. \|' "$CHART/README.md")" -gt 60 ]
    run grep -E '^\| .[A-Za-z.]+. \| .* \| *\|$' "$CHART/README.md"
    [ "$status" -eq 1 ]
}

@test "the chart version equals the workspace version" {
    version=$(awk -F '"' '/^version = / {print $2; exit}' "$ROOT/Cargo.toml")
    [ "$(json <"$CHART/Chart.yaml" | jq --raw-output '"\(.version) \(.appVersion)"')" = "$version $version" ]
}

@test "a package contains the chart without its tests" {
    helm package "$CHART" --destination "$BATS_TEST_TMPDIR"
    tar -tf "$BATS_TEST_TMPDIR"/fabricbench-*.tgz | sort >"$BATS_TEST_TMPDIR/files"
    run grep -E '_test.yaml|gotmpl' "$BATS_TEST_TMPDIR/files"
    [ "$status" -eq 1 ]
    for file in README.md values.schema.json crds/benchmarkruns.yaml templates/NOTES.txt; do
        grep -qxF "fabricbench/$file" "$BATS_TEST_TMPDIR/files"
    done
}
