# Faults, each taken back by a command.

setup_file() {
    load lib/common
    namespace_fresh faults
    for index in 1 2; do apply faults pod.yaml "NAME=pod-$index" "NODE=node-$index"; done
    pods_ready faults
    services_serve faults pod-1 pod-2
}

setup() { load lib/common; }

# Whatever a test left: the next one has a whole node.
teardown() {
    "$TESTBED" node heal node-2
    "$TESTBED" node start node-2
    "$TESTBED" node free node-2
}

@test "a stopped kubelet: NotReady, and Ready with its devices when started" {
    "$TESTBED" node stop node-2
    await "$PATIENCE" "node-2 to be NotReady" node_condition node-2 Ready Unknown
    run "$TESTBED" status
    [ "$status" -eq 1 ]
    "$TESTBED" node start node-2
    node_condition node-2 Ready True
    kubectl get node node-2 -o json | jq -e '.status.allocatable["vpc.amazonaws.com/efa"] == "32"'
}

@test "a kubelet that was stopped for a moment only has its devices too" {
    "$TESTBED" node stop node-2
    "$TESTBED" node start node-2
    kubectl get node node-2 -o json | jq -e '.status.allocatable["vpc.amazonaws.com/efa"] == "32"'
}

@test "a killed containerd: its pods live on, and it comes back" {
    # By address: a kubelet that was just started has its pods unready until it has probed them.
    address=$(kubectl -n faults get pod pod-2 -o 'jsonpath={.status.podIP}')
    "$TESTBED" node crash node-2
    reaches faults pod-1 tcp "$address:8080" pod-2
    "$TESTBED" node start node-2
    [ "$(kubectl -n faults get pod pod-2 -o 'jsonpath={.status.containerStatuses[0].restartCount}')" = 0 ]
    reaches faults pod-2 tcp pod-1:80 pod-1
}

@test "a partitioned node is out of reach, and healed it is back" {
    "$TESTBED" node partition node-2
    run probe faults pod-1 ask tcp pod-2:80
    [ "$status" -ne 0 ]
    await "$PATIENCE" "node-2 to be NotReady" node_condition node-2 Ready Unknown
    "$TESTBED" node heal node-2
    await "$PATIENCE" "node-2 to be Ready" node_condition node-2 Ready True
    reaches faults pod-1 tcp pod-2:80 pod-2
}

@test "a pod whose network is cut answers no one, and mended it does" {
    "$TESTBED" pod cut pod-2 faults
    # By address: DNS may well be on the other node.
    address=$(kubectl -n faults get pod pod-2 -o 'jsonpath={.status.podIP}')
    run probe faults pod-1 ask tcp "$address:8080"
    [ "$status" -ne 0 ]
    "$TESTBED" pod mend pod-2 faults
    reaches faults pod-1 tcp "$address:8080" pod-2
}

@test "a full disk: DiskPressure, and none when freed; the images are there again" {
    before=$(node_ctr node-2 images list --quiet | grep fabricbench.dev/)
    "$TESTBED" node fill node-2
    await "$PATIENCE" "DiskPressure" node_condition node-2 DiskPressure True
    "$TESTBED" node free node-2
    await "$PATIENCE" "no DiskPressure" node_condition node-2 DiskPressure False
    [ "$(node_ctr node-2 images list --quiet | grep fabricbench.dev/)" = "$before" ]
}

@test "an unknown node is named" {
    run "$TESTBED" node stop node-9
    [ "$status" -eq 1 ]
    [[ $output == *"no node 'node-9' (nodes: node-1 node-2)"* ]]
}
