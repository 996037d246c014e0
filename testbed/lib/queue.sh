# shellcheck shell=bash
# The queue controller Kueue, an add-on that is installed only on request. Its chart comes from the same pinned module as
# its binary, and Kueue creates its own certificates.

QUEUE_NAMESPACE=kueue-system
QUEUE_IMAGE=fabricbench.dev/testbed/kueue:1

# queue_up [CONFIGURATION]: installs Kueue, or restarts it with another configuration. CONFIGURATION is a file with Kueue's
# Configuration; the default is that of the chart.
queue_up() {
    local configuration=() archive chart started=$SECONDS
    [ $# -le 1 ] || fail "queue up takes at most one CONFIGURATION (see testbed help)"
    if [ $# -eq 1 ]; then
        [ -f "$1" ] || fail "the configuration $1 does not exist"
        configuration=(--set-file "managerConfig.controllerManagerConfigYaml=$1")
    fi
    tools_up kueue helm
    archive=$(image_build "$QUEUE_IMAGE" "$HERE/images/kueue/Dockerfile" "$(tool_dir kueue)")
    archives_load "$(node_names)" "$archive"
    chart=$(queue_chart)
    # Kueue requests no CPUs: the topology test uses whole nodes, and would not find one if Kueue occupied a part of it.
    queue_helm upgrade --install kueue "$chart" --create-namespace "${configuration[@]}" \
        --set "controllerManager.manager.image.repository=${QUEUE_IMAGE%:*}" \
        --set "controllerManager.manager.image.tag=${QUEUE_IMAGE##*:}" \
        --set controllerManager.manager.image.pullPolicy=Never \
        --set-string controllerManager.manager.resources.requests.cpu=0 >/dev/null || fail "failed to install Kueue"
    # Kueue is ready before its webhooks have a certificate, and the API server rejects every Job until then.
    await 180 "Kueue to be ready" queue_serves ||
        fail "check testbed kubectl -n $QUEUE_NAMESPACE logs deployment/kueue-controller-manager"
    say "Kueue is up in $((SECONDS - started)) s"
}

# queue_down: uninstalls Kueue with its queues and workloads.
queue_down() {
    local kind
    tools_up helm
    queue_helm status kueue >/dev/null 2>&1 || return 0
    # Kueue removes the finalizers of its objects, so they must be gone before Kueue is.
    for kind in localqueues clusterqueues workloads resourceflavors topologies; do
        kubectl delete "$kind.kueue.x-k8s.io" --all --all-namespaces --timeout=60s >/dev/null ||
            fail "Kueue does not release its $kind: delete the Jobs that use them"
    done
    queue_helm uninstall kueue --wait >/dev/null
    kubectl delete namespace "$QUEUE_NAMESPACE" --ignore-not-found >/dev/null
}

queue_helm() { "$(tool helm helm)" --kubeconfig "$SITE/kubeconfig" --namespace "$QUEUE_NAMESPACE" "$@"; }

# queue_chart: prints the directory of the chart in Kueue's module, which is downloaded if Go's cache no longer has it.
queue_chart() {
    (cd "$(tool_module kueue)" && go mod download -json sigs.k8s.io/kueue) | jq -er '.Dir + "/charts/kueue"'
}

queue_serves() {
    kubectl -n "$QUEUE_NAMESPACE" rollout status deployment/kueue-controller-manager --timeout=1s &&
        kubectl create -f "$HERE/manifests/queue-probe.yaml" --dry-run=server
}
