# etcd and the API server alone, beside the cluster.

setup() { load lib/common; }

@test "api-only serves beside the cluster, and goes without a trace of it" {
    run --separate-stderr "$TESTBED" api-only
    [ "$status" -eq 0 ]
    echo "# ${stderr##*testbed: }" >&3
    await "$PATIENCE" "the namespace default" "$(kubernetes kubectl)" --kubeconfig "$output" get namespace default
    "$(kubernetes kubectl)" --kubeconfig "$output" create configmap mine --from-literal=a=b
    run kubectl get configmap mine
    [ "$status" -ne 0 ]
    "$TESTBED" api-only down
    [ ! -e "$STATE/api-only" ]
    [ ! -e "/run/netns/$API_ONLY_NETNS" ]
    kubectl get --raw /readyz
}
