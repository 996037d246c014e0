# `api-only`: etcd and an API server without nodes, running concurrently with the cluster.

setup() { load lib/common; }

@test "api-only runs concurrently with the cluster and is removed completely" {
    run --separate-stderr "$TESTBED" api-only
    [ "$status" -eq 0 ]
    # shellcheck disable=SC2154  # set by run
    echo "# ${stderr##*testbed: }" >&3
    await "$TIMEOUT" "the default namespace" "$(kubernetes kubectl)" --kubeconfig "$output" get namespace default
    "$(kubernetes kubectl)" --kubeconfig "$output" create configmap api-only --from-literal=a=b
    run kubectl get configmap api-only
    [ "$status" -ne 0 ]
    "$TESTBED" api-only down
    [ ! -e "$STATE/api-only" ]
    [ ! -e "/run/netns/$API_ONLY_NETNS" ]
    kubectl get --raw /readyz
}
