#!/usr/bin/env bats
# Tests `make try-cluster`, to which the testbed's cluster is an existing cluster. Run by .ci/chart-test.

bats_require_minimum_version 1.5.0

setup() {
    load lib/cluster
    cd "$ROOT" || return
    binaries=$(dirname "$(command -v fabricbench)")
}

teardown_file() {
    load lib/cluster
    kubectl delete namespace fabricbench-try --ignore-not-found
    helm uninstall fabricbench --namespace fabricbench-system --ignore-not-found --wait || true
    kubectl delete namespace fabricbench-system --ignore-not-found
    kubectl delete crd benchmarkruns.fabricbench.dev --ignore-not-found --timeout=60s
}

# refused MESSAGE [NAME=VALUE]...: checks that try-cluster fails with this message in this environment.
refused() {
    run env "${@:2}" .ci/try-cluster "$binaries"
    echo "$output"
    [ "$status" -eq 1 ]
    [[ $output == *"$1"* ]]
}

@test "existing cluster: what is missing is reported before anything is installed" {
    refused "KUBECONFIG is not set" -u KUBECONFIG
    refused "cannot read /nonexistent" KUBECONFIG=/nonexistent
    mkdir "$BATS_TEST_TMPDIR/bin"
    ln -s /usr/bin/* "$BATS_TEST_TMPDIR/bin/"
    rm -f "$BATS_TEST_TMPDIR/bin/helm"
    ln -sf "$(tool kubernetes kubectl)" "$BATS_TEST_TMPDIR/bin/kubectl"
    refused "helm is missing" PATH="$BATS_TEST_TMPDIR/bin"
    sed 's/127\.0\.0\.1:[0-9]*/127.0.0.1:1/' "$KUBECONFIG" >"$BATS_TEST_TMPDIR/unreachable"
    refused "does not respond as expected: The connection to the server 127.0.0.1:1 was refused" \
        KUBECONFIG="$BATS_TEST_TMPDIR/unreachable"
    kubectl taint nodes --all test/reserved=:NoSchedule
    refused "the example needs two nodes"
    kubectl taint nodes --all test/reserved:NoSchedule-
    [ -z "$(helm list --all-namespaces --all --short)" ]
}

@test "existing cluster: an image that the nodes do not have is named, and the release is removed" {
    refused "fabricbench.dev/operator:absent: " OPERATOR_IMAGE=fabricbench.dev/operator:absent INSTALL_SECONDS=20
    [[ $output == *"load its archive into the nodes (LOAD)"* ]]
    [ -z "$(helm list --all-namespaces --all --short)" ]
}

@test "existing cluster: a run completes with images from archives, and the printed commands remove everything" {
    run env LOAD="$TESTBED load docker-archive" .ci/try-cluster "$binaries"
    echo "$output"
    [ "$status" -eq 0 ]
    [[ $output == *"cluster: Kubernetes $(kubernetes_version), "* ]]
    [[ $output == *"run: Complete "* ]]
    # The report contains the comparison.
    [[ $output == *"run: Complete "*"fi-inject"*"To remove everything:"* ]]
    commands=$(sed '1,/^To remove everything:/d' <<<"$output")
    refused "the Helm release fabricbench already exists"
    while read -r command; do
        [ "$command" ] || continue
        # shellcheck disable=SC2086  # split into words
        $command
    done <<<"$commands"
    [ -z "$(helm list --all-namespaces --all --short)" ]
    run ! grep fabricbench <<<"$(kubectl get crd,clusterrole,clusterrolebinding -o name)"
}
