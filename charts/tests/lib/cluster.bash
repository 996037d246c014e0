# shellcheck shell=bash
# Helpers to test the chart in the testbed's cluster: helm, campaigns and network probes.

# shellcheck source=/dev/null
. "$(dirname "${BASH_SOURCE[0]}")/../../../testbed/tests/lib/common.bash"
# shellcheck source=charts/tests/lib/chart.bash
. "$(dirname "${BASH_SOURCE[0]}")/chart.bash"
export KUBECONFIG=$SITE/kubeconfig

# readme SECTION [ARGUMENT]...: executes the first command in that section of the chart's README, with the test images.
readme() {
    local command
    command=$(awk -v section="## $1" '$0 == section {found = 1} found && /^```/ {if (inside) exit; inside = 1; next} inside' \
        "$CHART/README.md")
    [ -n "$command" ] || { echo "README.md has no command in $1"; return 1; }
    command=${command//REGISTRY/fabricbench.dev}
    command=${command//runner.image.tag=TAG/runner.image.tag=runner}
    command=${command//image.tag=TAG/image.tag=dev}
    echo "\$ $command ${*:2}"
    # The command contains paths relative to the repository root.
    (cd "$ROOT" && eval "$command ${*:2}")
}

# campaign NAMESPACE NAME ROUNDS [FILTER]: creates a run. The jq FILTER adds fields.
campaign() {
    render "$ROOT/charts/tests/manifests/campaign.yaml" "NAME=$2" "ROUNDS=$3" | json | jq "${4:-.}" |
        kubectl -n "$1" create -f -
}

# of_run NAMESPACE NAME FILTER: prints the result of the jq FILTER for the run.
of_run() { kubectl -n "$1" get bench "$2" -o json | jq -r "$3"; }

# state_is STATE NAMESPACE NAME: whether the run has this state.
state_is() { [ "$(of_run "$2" "$3" .status.state)" = "$1" ]; }

ended() { state_is Complete "$@" || state_is Failed "$@"; }

# measured NAMESPACE NAME BLOCKS: whether at least BLOCKS blocks of the run have been measured.
measured() { [ "$(of_run "$1" "$2" '.status.progress.blocksDone // 0')" -ge "$3" ]; }

# completes NAMESPACE NAME: waits until the run completes, and verifies that it has valid results for every arm, size
# and round from a single attempt.
completes() {
    await "$TIMEOUT" "the end of $2" ended "$1" "$2" || true
    if ! state_is Complete "$1" "$2"; then
        kubectl -n "$1" get bench "$2" -o json | jq .status
        kubectl -n "$1" describe pods
        return 1
    fi
    of_run "$1" "$2" '"# \(.metadata.name): \(.status.progress.text) blocks, \(.status.results | length) results, \(.status.verdict)"' >&3
    kubectl -n "$1" get bench "$2" -o json | jq -e '
        .spec.sampling.rounds as $rounds
        | .status.progress.blocksDone == .status.progress.blocksTotal
        and (.status.results | length == 6 and all(.validRounds == $rounds))
        and (.status.execution.attempts | length == 1)
        and (.status.execution.disruptions // 0) == 0'
}

# forward_metrics NAMESPACE: forwards a local port to the operator's metrics. Sets `metrics` to their URL and `forwarder` to the
# PID of the forwarding process.
forward_metrics() {
    local log=$BATS_TEST_TMPDIR/forwarder
    kubectl -n "$1" port-forward "pod/$(operator_pod "$1")" ":$METRICS_PORT" >"$log" 2>&1 3>&- &
    forwarder=$!
    await "$TIMEOUT" "port forwarding to the operator" grep -q '^Forwarding from 127' "$log"
    metrics=http://$(sed -n 's/^Forwarding from \(127[^ ]*\) .*/\1/p' "$log")/metrics
}

# results_agree NAMESPACE OPERATOR-NAMESPACE RUN...: checks that the status of the runs, their reports, and a Prometheus
# that scrapes the operator (with dashboards and alerts) agree. The runs must be finished, and no other runs may exist.
# Deletes the runs.
results_agree() {
    local namespace=$1 run runs=()
    forward_metrics "$2"
    reader_token "$2" >"$BATS_TEST_TMPDIR/token"
    curl -sf --oauth2-bearer "$(cat "$BATS_TEST_TMPDIR/token")" "$metrics" >"$BATS_TEST_TMPDIR/metrics"
    for run in "${@:3}"; do
        kubectl -n "$namespace" get bench "$run" -o json >"$BATS_TEST_TMPDIR/$run.json"
        runs+=("$BATS_TEST_TMPDIR/$run.json")
        fabricbench report "$namespace/$run" --format openmetrics >"$BATS_TEST_TMPDIR/report" || [ $? -ne 2 ]
        diff <(measured_values "$run" <"$BATS_TEST_TMPDIR/metrics") <(measured_values "$run" <"$BATS_TEST_TMPDIR/report")
        echo "# $run: $(measured_values "$run" <"$BATS_TEST_TMPDIR/report" | wc -l) values in its report equal the scraped values"
    done
    PYTHONDONTWRITEBYTECODE=1 python3 "$ROOT/charts/tests/queries/check.py" --partly --scrape "$metrics" --token "$BATS_TEST_TMPDIR/token" \
        --then "kubectl -n $namespace delete bench --all --wait" "${runs[@]}" >"$BATS_TEST_TMPDIR/check"
    sed 's/^/# /' "$BATS_TEST_TMPDIR/check"
    kubectl delete clusterrolebinding "$2-prometheus"
    kubectl -n "$2" delete serviceaccount prometheus
    kill "$forwarder"
}

# reader_token NAMESPACE: prints a token of a service account that may read the metrics.
reader_token() {
    kubectl -n "$1" create serviceaccount prometheus --dry-run=client -o yaml | kubectl apply -f - >/dev/null
    kubectl create clusterrolebinding "$1-prometheus" --clusterrole=fabricbench-metrics-reader \
        --serviceaccount="$1:prometheus" --dry-run=client -o yaml | kubectl apply -f - >/dev/null
    kubectl -n "$1" create token prometheus
}

# measured_values RUN: prints the measured values of the run in the metrics on standard input, without its state.
measured_values() { grep -E "^fabricbench_(arm|comparison|pair)_[a-z_]*\{.*[{,]run=\"$1\"" | sort; }

# workers NAMESPACE RUN: prints each pod's name, UID and number of restarts.
workers() {
    kubectl -n "$1" get pods -l "fabricbench.dev/run=$2" -o json |
        jq -r '.items[] | [.metadata.name, .metadata.uid, .status.containerStatuses[].restartCount] | @tsv' | sort
}

# operator_uid NAMESPACE: waits until the operator has only one pod, and prints its UID.
operator_uid() { kubectl -n "$1" get pod "$(operator_pod "$1")" -o 'jsonpath={.metadata.uid}'; }

operator_pod() {
    await "$TIMEOUT" "one pod of the operator" one_operator "$1" >&2
    kubectl -n "$1" get pods -l app.kubernetes.io/component=operator -o 'jsonpath={.items[0].metadata.name}'
}

one_operator() { [ "$(kubectl -n "$1" get pods -l app.kubernetes.io/component=operator -o name | wc -l)" -eq 1 ]; }

# address NAMESPACE SELECTOR: prints the pod IP of the only pod that the selector matches.
address() { kubectl -n "$1" get pods -l "$2" -o json | jq -er '.items | select(length == 1) | .[0].status.podIP'; }

# rank_0 RUN: prints the selector for the run's worker 0, to which the other workers connect.
rank_0() { printf 'fabricbench.dev/run=%s,batch.kubernetes.io/job-completion-index=0' "$1"; }

# probe_gets_response NAMESPACE ADDRESS: whether the probe receives any response from the address, including a refused
# connection.
probe_gets_response() { query_probe "$@" && [[ $probe_output != *"dial tcp"*timeout* ]]; }

# probe_dropped NAMESPACE ADDRESS: whether two requests from the probe are dropped. A single timeout may be a
# delayed response.
probe_dropped() {
    for _ in 1 2; do
        query_probe "$@" || return 1
        [[ $probe_output == *"dial tcp"*timeout* ]] || return 1
    done
}

# query_probe NAMESPACE ADDRESS: sets `probe_output` to the probe's output. Fails if the probe cannot be executed.
query_probe() {
    probe_output=$(probe "$1" probe query tcp "$2" 2>&1) || true
    echo "$1 queries $2: $probe_output"
    [[ $probe_output != *"Error from server"* && $probe_output != *"unable to upgrade"* ]]
}

# inventory: prints all objects in the cluster except events and the APIService objects that the API server creates.
inventory() {
    local kinds
    kinds=$(kubectl api-resources --verbs=list -o name | grep -vE '^(events|componentstatuses|apiservices)' | paste -sd,)
    kubectl get "$kinds" --all-namespaces -o json |
        jq -r '.items[] | "\(.kind) \(.metadata.namespace // "") \(.metadata.name)"' | sort
}

# only_crd_is_new FILE: whether the cluster contains only the objects in FILE and the CustomResourceDefinition.
only_crd_is_new() {
    inventory >"$BATS_TEST_TMPDIR/inventory"
    diff <(sort - "$1" <<<'CustomResourceDefinition  benchmarkruns.fabricbench.dev') "$BATS_TEST_TMPDIR/inventory"
}

# older_crd: prints the CustomResourceDefinition of a hypothetical older version.
older_crd() {
    json <"$CHART/crds/benchmarkruns.yaml" |
        jq '.spec.versions[0] |= (.additionalPrinterColumns |= map(select(.name != "Verdict")) | del(.schema.openAPIV3Schema.properties.status.properties.outcome))'
}

# crd_is_current: whether the cluster already has the chart's CustomResourceDefinition.
crd_is_current() { kubectl diff --server-side --force-conflicts -f "$CHART/crds/benchmarkruns.yaml"; }
