#!/usr/bin/env bats
# Tests the chart in a real cluster: installation, upgrade and uninstallation, cluster-wide and for one namespace. Each
# test depends on the tests before it. Run by .ci/chart-test, which provides the cluster and the images.

bats_require_minimum_version 1.5.0

setup_file() {
    load lib/cluster
    probe_load
    # These namespaces enforce the restricted Pod Security Standard, including for the operator and the upgrade Job.
    for namespace in fabricbench-system campaigns monitoring benchmarks elsewhere; do fresh_namespace "$namespace"; done
    kubectl delete crd benchmarkruns.fabricbench.dev --ignore-not-found --timeout=60s
    for namespace in campaigns monitoring; do apply "$namespace" pod.yaml NAME=probe NODE=node-1; done
    pods_ready campaigns
    pods_ready monitoring
    inventory >"$BATS_FILE_TMPDIR/before"
}

teardown_file() {
    load lib/cluster
    for namespace in campaigns benchmarks elsewhere; do
        kubectl -n "$namespace" delete bench --all --timeout=60s --ignore-not-found || true
    done
    for namespace in fabricbench-system benchmarks; do
        helm uninstall fabricbench --namespace "$namespace" --ignore-not-found --wait || true
    done
    kubectl delete namespace fabricbench-system campaigns monitoring benchmarks elsewhere --ignore-not-found
    kubectl delete crd benchmarkruns.fabricbench.dev --ignore-not-found --timeout=60s
}

setup() { load lib/cluster; }

# A failed test leaves the forwarding process running, and bats would wait until it exits.
teardown() { if [ "${forwarder:-}" ]; then kill "$forwarder" 2>/dev/null || true; fi; }

# Ports of worker 0's rendezvous and of the operator's metrics.
RENDEZVOUS_PORT=7469
METRICS_PORT=8080

@test "a campaign completes after installing as described in README.md" {
    readme Install --wait --timeout 3m
    [ "$(kubectl -n fabricbench-system get lease fabricbench-operator -o 'jsonpath={.metadata.labels.app\.kubernetes\.io/managed-by}')" = Helm ]
    campaign campaigns first 6
    completes campaigns first
}

@test "Prometheus and the reports agree with the status, and alerts fire until their run is deleted" {
    campaign campaigns missed 9 '.spec.expectations = [{variant: "fi-inject", scenario: "small", sizes: {below: 100},
        metric: "LatencyP50", decreasePercent: {min: 90, max: 99}}]'
    # The added variant cannot be measured.
    campaign campaigns untrusted 6 '.spec.variants += [{name: "absent", library: "/nowhere"}]'
    for run in missed untrusted; do
        await "$TIMEOUT" "the end of $run" ended campaigns "$run"
    done
    [ "$(of_run campaigns missed .status.outcome)" = Missed ]
    [ "$(of_run campaigns untrusted .status.outcome)" = Untrusted ]
    results_agree campaigns fabricbench-system first missed untrusted >&3
}

@test "editors may create runs and viewers may only read them" {
    kubectl -n campaigns create rolebinding editor --clusterrole=edit --user=editor
    kubectl -n campaigns create rolebinding viewer --clusterrole=view --user=viewer
    await "$TIMEOUT" "the aggregated permissions of editors" may editor create benchmarkruns.fabricbench.dev
    await "$TIMEOUT" "the aggregated permissions of viewers" may viewer get benchmarkruns.fabricbench.dev
    may editor create pods
    run ! may viewer create benchmarkruns.fabricbench.dev
    run ! may editor patch benchmarkruns.fabricbench.dev --subresource=status
    kubectl -n campaigns delete rolebinding editor viewer
}

may() { kubectl -n campaigns auth can-i --quiet --as "$1" "${@:2}"; }

@test "without NetworkPolicies, a probe reaches the operator and runners" {
    campaign campaigns open 60
    await "$TIMEOUT" "blocks of open" measured campaigns open 1
    operator=$(address fabricbench-system app.kubernetes.io/component=operator)
    runner=$(address campaigns "$(rank_0 open)")
    for namespace in campaigns monitoring; do
        await "$TIMEOUT" "the operator to respond to $namespace" probe_gets_response "$namespace" "$operator:$METRICS_PORT"
        await "$TIMEOUT" "the runner to respond to $namespace" probe_gets_response "$namespace" "$runner:$RENDEZVOUS_PORT"
    done
    state_is Running campaigns open
    kubectl -n campaigns delete bench open --wait
}

@test "with NetworkPolicies, a campaign completes and only a scraper reaches the metrics" {
    readme Upgrade --wait --timeout 3m --set networkPolicy.enabled=true,networkPolicy.runners.namespaces='{campaigns}' \
        --set 'networkPolicy.metrics.from[0].namespaceSelector.matchLabels.team=monitoring'
    campaign campaigns shut 45
    await "$TIMEOUT" "blocks of shut" measured campaigns shut 1
    operator=$(address fabricbench-system app.kubernetes.io/component=operator)
    runner=$(address campaigns "$(rank_0 shut)")
    await "$TIMEOUT" "the operator to drop packets from campaigns" probe_dropped campaigns "$operator:$METRICS_PORT"
    for namespace in campaigns monitoring; do
        await "$TIMEOUT" "the runner to drop packets from $namespace" probe_dropped "$namespace" "$runner:$RENDEZVOUS_PORT"
    done
    probe_gets_response monitoring "$operator:$METRICS_PORT"
    state_is Running campaigns shut
    completes campaigns shut
}

@test "an upgrade does not disturb a campaign in progress and upgrades the CRD" {
    older_crd | kubectl replace -f -
    run ! crd_is_current
    operator=$(operator_uid fabricbench-system)
    campaign campaigns upgraded 45
    await "$TIMEOUT" "blocks of upgraded" measured campaigns upgraded 2
    workers campaigns upgraded >"$BATS_TEST_TMPDIR/before"
    [ "$(wc -l <"$BATS_TEST_TMPDIR/before")" -eq 2 ]
    readme Upgrade --wait --timeout 3m --set podAnnotations.revision=second
    crd_is_current
    [ "$(operator_uid fabricbench-system)" != "$operator" ]
    # The test is meaningful only if the run is still in progress.
    state_is Running campaigns upgraded
    done_before=$(of_run campaigns upgraded .status.progress.blocksDone)
    workers campaigns upgraded | diff "$BATS_TEST_TMPDIR/before" -
    upgraded=$SECONDS
    await "$TIMEOUT" "blocks by the new operator" measured campaigns upgraded $((done_before + 1))
    printf '# another block %s s after the upgrade\n' $((SECONDS - upgraded)) >&3
    workers campaigns upgraded | diff "$BATS_TEST_TMPDIR/before" -
    completes campaigns upgraded
}

@test "the upgrade Job and its permissions are removed" {
    run kubectl get clusterrole,clusterrolebinding,serviceaccount,job --all-namespaces -o name
    [[ $output != *crd-upgrade* ]]
}

@test "uninstalling is refused while runs exist, and changes nothing" {
    run readme Uninstall --wait
    [ "$status" -ne 0 ]
    [[ $output == *"because these runs exist: campaigns/"* ]]
    kubectl -n fabricbench-system logs job/fabricbench-uninstall | grep 'because these runs exist: campaigns/'
    kubectl -n fabricbench-system rollout status deployment/fabricbench-operator --timeout 60s
    kubectl -n campaigns get bench upgraded
    # Helm has saved that it uninstalls the release, and upgrades it only after a rollback.
    helm status fabricbench --namespace fabricbench-system -o json >"$BATS_TEST_TMPDIR/release"
    [ "$(jq -r .info.status "$BATS_TEST_TMPDIR/release")" = uninstalling ]
    run readme Upgrade --wait --timeout 3m
    [ "$status" -ne 0 ]
    [[ $output == *"has no deployed releases"* ]]
    operator=$(operator_uid fabricbench-system)
    helm rollback fabricbench "$(jq -r .version "$BATS_TEST_TMPDIR/release")" --namespace fabricbench-system --wait
    [ "$(operator_uid fabricbench-system)" = "$operator" ]
    readme Upgrade --wait --timeout 3m --set podAnnotations.revision=third
    kubectl -n campaigns get bench upgraded
    run readme Uninstall --wait
    [ "$status" -ne 0 ]
}

@test "only the CRD is left after uninstalling as described in README.md" {
    kubectl -n campaigns delete bench --all --wait
    readme Uninstall --wait
    await "$TIMEOUT" "the remaining objects to be deleted" only_crd_is_new "$BATS_FILE_TMPDIR/before"
}

@test "with Roles only, a namespace administrator can install the chart and a campaign completes" {
    kubectl -n benchmarks create role everything --verb='*' --resource='*.*'
    kubectl -n benchmarks create rolebinding team --role=everything --user=team
    run ! kubectl --as team get nodes
    inventory >"$BATS_FILE_TMPDIR/before-namespaced"
    helm install fabricbench "$CHART" --namespace benchmarks --kube-as-user team --skip-crds --wait --timeout 3m \
        --set namespaced.enabled=true,networkPolicy.enabled=true,image.tag=dev,runner.image.tag=runner
    run ! grep -E '^Cluster.* fabricbench' <(inventory)
    campaign elsewhere elsewhere 6
    campaign benchmarks own 6
    completes benchmarks own
    of_run benchmarks own '.status.warnings[]' | grep -i node
    results_agree benchmarks benchmarks own >&3
    [ "$(of_run elsewhere elsewhere '.status.state // "none"')" = none ]
    kubectl -n elsewhere delete bench elsewhere --wait
}

@test "with Roles only, an upgrade does not disturb a campaign in progress" {
    operator=$(operator_uid benchmarks)
    campaign benchmarks upgraded 45
    await "$TIMEOUT" "blocks of upgraded" measured benchmarks upgraded 2
    workers benchmarks upgraded >"$BATS_TEST_TMPDIR/before"
    helm upgrade fabricbench "$CHART" --namespace benchmarks --kube-as-user team --reset-then-reuse-values --wait --timeout 3m \
        --set podAnnotations.revision=second
    [ "$(operator_uid benchmarks)" != "$operator" ]
    state_is Running benchmarks upgraded
    workers benchmarks upgraded | diff "$BATS_TEST_TMPDIR/before" -
    completes benchmarks upgraded
}

@test "with Roles only, no objects are left after uninstalling" {
    kubectl -n benchmarks delete bench --all --wait
    helm uninstall fabricbench --namespace benchmarks --kube-as-user team --wait
    await "$TIMEOUT" "the remaining objects to be deleted" same_inventory "$BATS_FILE_TMPDIR/before-namespaced"
}

same_inventory() {
    inventory >"$BATS_TEST_TMPDIR/inventory"
    diff "$1" "$BATS_TEST_TMPDIR/inventory"
}
