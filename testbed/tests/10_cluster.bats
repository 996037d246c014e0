# The cluster itself: nodes, what they claim, DNS, admission, and the command's manners.

setup() { load lib/common; }

@test "both nodes are Ready and offer what a p5.48xlarge does" {
    for node in node-1 node-2; do
        run kubectl get node "$node" -o json
        [ "$(jq -r '.status.conditions[] | select(.type == "Ready").status' <<<"$output")" = True ]
        [ "$(jq -r '.status.allocatable["vpc.amazonaws.com/efa"]' <<<"$output")" = 32 ]
        [ "$(jq -r '.status.allocatable["nvidia.com/gpu"]' <<<"$output")" = 8 ]
        [ "$(jq -r '.metadata.labels["node.kubernetes.io/instance-type"]' <<<"$output")" = p5.48xlarge ]
    done
}

@test "every component is of the pinned version" {
    kubectl version -o json | jq -e --arg version "$(kubernetes_version)" '.serverVersion.gitVersion == $version'
    kubectl get nodes -o json | jq -e --arg version "$(kubernetes_version)" 'all(.items[].status.nodeInfo; .kubeletVersion == $version)'
}

@test "CoreDNS serves" {
    kubectl -n kube-system get deployment coredns -o json | jq -e '.status.availableReplicas == 1'
}

@test "RBAC is on: a service account may read nothing that it was not given" {
    run kubectl --as=system:serviceaccount:default:default get secrets
    [ "$status" -ne 0 ]
    [[ $output == *"cannot list resource \"secrets\""* ]]
}

@test "Pod Security admission is on: a privileged pod is refused where the restricted standard holds" {
    namespace_fresh admission
    run kubectl -n admission run bad --image="$PROBE_IMAGE" --privileged
    [ "$status" -ne 0 ]
    [[ $output == *"violates PodSecurity \"restricted"* ]]
}

@test "up again changes nothing" {
    before=$(cat "$SITE"/run/*.pid)
    run "$TESTBED" up --nodes 2
    [ "$status" -eq 0 ]
    [ "$(cat "$SITE"/run/*.pid)" = "$before" ]
}

@test "up with another number of nodes says why not" {
    run "$TESTBED" up --nodes 3
    [ "$status" -ne 0 ]
    [[ $output == *"the cluster has 2 nodes, not 3"* ]]
}

@test "a command with more than it takes does nothing" {
    for command in "down --help" "status all" "kubeconfig all" "api-only down all"; do
        # shellcheck disable=SC2086  # words
        run "$TESTBED" $command
        [ "$status" -eq 1 ]
        [[ $output == *"unexpected: "* ]]
    done
    kubectl get --raw /readyz
}

@test "a number of nodes that cannot be is refused" {
    for count in 0 5 two; do
        run "$TESTBED" up --nodes "$count"
        [ "$status" -ne 0 ]
        [[ $output == *"'$count' is not a number from 1 to 4"* ]]
    done
}

@test "of two commands at once one is told to wait" {
    exec 8>>"$LOCK_FOLDER/$CONTROL_NETNS"
    flock 8
    run "$TESTBED" up --nodes 2 8>&-
    exec 8>&-
    [ "$status" -ne 0 ]
    [[ $output == *"another testbed command is at work"* ]]
}

@test "without root it says so" {
    # A copy, as a user without rights may not read where the checkout is.
    copy=$(mktemp -d)
    cp -r "$HERE/testbed" "$HERE/lib" "$copy/"
    chmod -R a+rX "$copy"
    run setpriv --reuid=65534 --regid=65534 --clear-groups "$copy/testbed" up
    rm -rf "$copy"
    [ "$status" -eq 1 ]
    [[ $output == *"needs root"* ]]
}

@test "nothing listens but on loopback" {
    # Of the machine's own namespace, only what the testbed started.
    listeners=$(ss -Hltnup | grep -E "pid=($(members | paste -sd '|'))," | awk '{print $5}')
    [ "$listeners" = "127.0.0.1:$CLUSTER_PORT" ]
}

@test "what is missing is named, with the command that installs it" {
    # All programs of the machine but two.
    mkdir "$BATS_TEST_TMPDIR/bin"
    ln -s /usr/bin/* "$BATS_TEST_TMPDIR/bin/"
    rm "$BATS_TEST_TMPDIR"/bin/{socat,runc,buildah} 2>/dev/null || true
    run env PATH="$BATS_TEST_TMPDIR/bin" "$TESTBED" up --nodes 2
    [ "$status" -eq 1 ]
    [[ $output == *"missing programs: "*buildah*socat*".ci/setup cluster"* ]]
}

@test "without Go it says so when something must be built, and not otherwise" {
    without_go=/usr/sbin:/usr/bin:/sbin:/bin
    if PATH=$without_go command -v go >/dev/null; then skip "Go is among the system's programs"; fi
    run env PATH="$without_go" "$TESTBED" tools etcd
    [ "$status" -eq 0 ]
    run env PATH="$without_go" FABRICBENCH_CACHE="$BATS_TEST_TMPDIR/empty" "$TESTBED" tools etcd
    [ "$status" -eq 1 ]
    [[ $output == *"Go is missing"* ]]
}

@test "another testbed on the same machine is named" {
    for command in up down; do
        run env FABRICBENCH_TESTBED_STATE="$BATS_TEST_TMPDIR/other" "$TESTBED" "$command"
        [ "$status" -eq 1 ]
        [[ $output == *"another testbed is up: its FABRICBENCH_TESTBED_STATE is $STATE"* ]]
    done
    kubectl get --raw /readyz
}
