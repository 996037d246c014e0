# The commands that inject faults, and the commands that revert them.

setup_file() {
    load lib/common
    fresh_namespace faults
    for index in 1 2; do apply faults pod.yaml "NAME=pod-$index" "NODE=node-$index"; done
    pods_ready faults
    services_serve faults pod-1 pod-2
}

setup() { load lib/common; }

# Reverts the faults that a failed test has left, so that the next test starts with a healthy node.
teardown() {
    "$TESTBED" node heal node-2
    "$TESTBED" node start node-2
    "$TESTBED" node free node-2
}

@test "a stopped kubelet makes its node NotReady, and starting it restores the devices" {
    "$TESTBED" node stop node-2
    await "$TIMEOUT" "node-2 to be NotReady" node_condition node-2 Ready Unknown
    run "$TESTBED" status
    [ "$status" -eq 1 ]
    "$TESTBED" node start node-2
    node_condition node-2 Ready True
    kubectl get node node-2 -o json | jq -e '.status.allocatable["vpc.amazonaws.com/efa"] == "32"'
}

@test "stopping a kubelet briefly preserves the devices" {
    "$TESTBED" node stop node-2
    "$TESTBED" node start node-2
    kubectl get node node-2 -o json | jq -e '.status.allocatable["vpc.amazonaws.com/efa"] == "32"'
}

@test "pods survive a containerd crash, and containerd can be restarted" {
    # The probe uses the pod IP instead of the Service name: a kubelet that has just started reports its pods as not
    # ready until it has probed them, so the Service has no ready endpoints.
    address=$(kubectl -n faults get pod pod-2 -o 'jsonpath={.status.podIP}')
    "$TESTBED" node crash node-2
    reaches faults pod-1 tcp "$address:8080" pod-2
    "$TESTBED" node start node-2
    [ "$(kubectl -n faults get pod pod-2 -o 'jsonpath={.status.containerStatuses[0].restartCount}')" = 0 ]
    reaches faults pod-2 tcp pod-1:80 pod-1
}

@test "a partitioned node is unreachable until healed" {
    "$TESTBED" node partition node-2
    run probe faults pod-1 query tcp pod-2:80
    [ "$status" -ne 0 ]
    await "$TIMEOUT" "node-2 to be NotReady" node_condition node-2 Ready Unknown
    "$TESTBED" node heal node-2
    await "$TIMEOUT" "node-2 to be Ready" node_condition node-2 Ready True
    reaches faults pod-1 tcp pod-2:80 pod-2
}

@test "a disconnected pod is unreachable until reconnected" {
    "$TESTBED" pod disconnect pod-2 faults
    # The probe uses the pod IP, so that the query does not depend on DNS or on the Service.
    address=$(kubectl -n faults get pod pod-2 -o 'jsonpath={.status.podIP}')
    run probe faults pod-1 query tcp "$address:8080"
    [ "$status" -ne 0 ]
    "$TESTBED" pod reconnect pod-2 faults
    reaches faults pod-1 tcp "$address:8080" pod-2
}

@test "a full disk causes DiskPressure, and freeing it restores the images" {
    before=$(node_ctr node-2 images list --quiet | grep fabricbench.dev/)
    "$TESTBED" node fill node-2
    await "$TIMEOUT" "DiskPressure" node_condition node-2 DiskPressure True
    "$TESTBED" node free node-2
    await "$TIMEOUT" "no DiskPressure" node_condition node-2 DiskPressure False
    [ "$(node_ctr node-2 images list --quiet | grep fabricbench.dev/)" = "$before" ]
}

@test "node commands reject an unknown node" {
    run "$TESTBED" node stop node-9
    [ "$status" -eq 1 ]
    [[ $output == *"unknown node 'node-9' (nodes: node-1 node-2)"* ]]
}
