# The cluster: nodes, simulated devices, DNS, admission, and the behavior of the testbed command.

setup() { load lib/common; }

@test "both nodes are Ready and advertise the devices of a p5.48xlarge" {
    for node in node-1 node-2; do
        run kubectl get node "$node" -o json
        [ "$(jq -r '.status.conditions[] | select(.type == "Ready").status' <<<"$output")" = True ]
        [ "$(jq -r '.status.allocatable["vpc.amazonaws.com/efa"]' <<<"$output")" = 32 ]
        [ "$(jq -r '.status.allocatable["nvidia.com/gpu"]' <<<"$output")" = 8 ]
        [ "$(jq -r '.metadata.labels["node.kubernetes.io/instance-type"]' <<<"$output")" = p5.48xlarge ]
    done
}

@test "every component has the pinned version" {
    kubectl version -o json | jq -e --arg version "$(kubernetes_version)" '.serverVersion.gitVersion == $version'
    kubectl get nodes -o json | jq -e --arg version "$(kubernetes_version)" 'all(.items[].status.nodeInfo; .kubeletVersion == $version)'
}

@test "CoreDNS is available" {
    kubectl -n kube-system get deployment coredns -o json | jq -e '.status.availableReplicas == 1'
}

@test "RBAC denies a service account without permissions" {
    run kubectl --as=system:serviceaccount:default:default get secrets
    [ "$status" -ne 0 ]
    [[ $output == *"cannot list resource \"secrets\""* ]]
}

@test "Pod Security admission rejects a privileged pod in a restricted namespace" {
    fresh_namespace admission
    run kubectl -n admission run privileged --image="$PROBE_IMAGE" --privileged
    [ "$status" -ne 0 ]
    [[ $output == *"violates PodSecurity \"restricted"* ]]
}

@test "a second up changes nothing" {
    before=$(cat "$SITE"/run/*.pid)
    run "$TESTBED" up --nodes 2
    [ "$status" -eq 0 ]
    [ "$(cat "$SITE"/run/*.pid)" = "$before" ]
}

@test "up rejects a different number of nodes" {
    run "$TESTBED" up --nodes 3
    [ "$status" -ne 0 ]
    [[ $output == *"started with node-count 2, not 3: run \`testbed down\` first"* ]]
}

@test "a running cluster keeps its version of Kubernetes" {
    other=$("$TESTBED" series | grep -vxF "$KUBERNETES" | head -n 1)
    for command in "up --nodes 2" "kubectl version" "node start node-1"; do
        # shellcheck disable=SC2086  # split into words
        run env FABRICBENCH_TESTBED_KUBERNETES="$other" "$TESTBED" $command
        [ "$status" -eq 1 ]
        [[ $output == *"started with kubernetes $KUBERNETES, not $other: run \`testbed down\` first"* ]]
    done
    [ "$(env -u FABRICBENCH_TESTBED_KUBERNETES "$TESTBED" version)" = "$(kubernetes_version)" ]
}

@test "an unknown version of Kubernetes is rejected with the known ones" {
    for unknown in 1.30 v1.37.2 1; do
        run env FABRICBENCH_TESTBED_KUBERNETES="$unknown" "$TESTBED" version
        [ "$status" -eq 1 ]
        [[ $output == *"unknown FABRICBENCH_TESTBED_KUBERNETES '$unknown' (series: $("$TESTBED" series | xargs))"* ]]
    done
}

@test "commands reject unexpected arguments" {
    for command in "down --help" "status all" "kubeconfig all" "api-only down all"; do
        # shellcheck disable=SC2086  # split into words
        run "$TESTBED" $command
        [ "$status" -eq 1 ]
        [[ $output == *"unexpected arguments: "* ]]
    done
    kubectl get --raw /readyz
}

@test "up rejects an invalid number of nodes" {
    for count in 0 7 two; do
        run "$TESTBED" up --nodes "$count"
        [ "$status" -ne 0 ]
        [[ $output == *"invalid --nodes '$count': must be a number from 1 to 6"* ]]
    done
}

@test "a command fails while another one is running" {
    exec 8>>"$LOCK_DIR/$CONTROL_NETNS"
    flock 8
    run "$TESTBED" up --nodes 2 8>&-
    exec 8>&-
    [ "$status" -ne 0 ]
    [[ $output == *"another testbed command is running"* ]]
}

@test "a command without root privileges reports that it needs root" {
    # The test runs a copy, because an unprivileged user may not be able to read the checkout.
    copy=$(mktemp -d)
    cp -r "$HERE/testbed" "$HERE/lib" "$HERE/tools" "$copy/"
    chmod -R a+rX "$copy"
    run setpriv --reuid=65534 --regid=65534 --clear-groups "$copy/testbed" up
    rm -rf "$copy"
    [ "$status" -eq 1 ]
    [[ $output == *"must run as root"* ]]
}

@test "the testbed listens only on loopback" {
    # Lists the listeners of testbed processes in the host network namespace.
    listeners=$(ss -Hltnup | grep -E "pid=($(marked_pids | paste -sd '|'))," | awk '{print $5}')
    [ "$listeners" = "127.0.0.1:$CLUSTER_PORT" ]
}

@test "missing programs are listed with the command that installs them" {
    # A PATH that contains every program in /usr/bin except the three below.
    mkdir "$BATS_TEST_TMPDIR/bin"
    ln -s /usr/bin/* "$BATS_TEST_TMPDIR/bin/"
    rm "$BATS_TEST_TMPDIR"/bin/{socat,runc,buildah} 2>/dev/null || true
    run env PATH="$BATS_TEST_TMPDIR/bin" "$TESTBED" up --nodes 2
    [ "$status" -eq 1 ]
    [[ $output == *"missing programs: "*buildah*socat*".ci/setup cluster"* ]]
}

@test "a new cluster needs free disk space" {
    run env FABRICBENCH_TESTBED_STATE="$BATS_TEST_TMPDIR/other" FABRICBENCH_TESTBED_FREE_GIB=1000000 "$TESTBED" up --nodes 2
    [ "$status" -eq 1 ]
    [[ $output == *"GiB of free space, but a new cluster needs 1000000 GiB"*"FABRICBENCH_TESTBED_STATE"* ]]
    run env FABRICBENCH_TESTBED_FREE_GIB=1000000 "$TESTBED" up --nodes 2
    [ "$status" -eq 0 ]
}

@test "Go is required only if something must be built" {
    without_go=/usr/sbin:/usr/bin:/sbin:/bin
    if PATH=$without_go command -v go >/dev/null; then skip "Go is installed in a system directory"; fi
    run env PATH="$without_go" "$TESTBED" tools etcd
    [ "$status" -eq 0 ]
    run env PATH="$without_go" FABRICBENCH_CACHE="$BATS_TEST_TMPDIR/empty" "$TESTBED" tools etcd
    [ "$status" -eq 1 ]
    [[ $output == *"Go is missing"* ]]
}

@test "up and down fail while another testbed is up on the same machine" {
    for command in up down; do
        run env FABRICBENCH_TESTBED_STATE="$BATS_TEST_TMPDIR/other" "$TESTBED" "$command"
        [ "$status" -eq 1 ]
        [[ $output == *"another testbed is up: its FABRICBENCH_TESTBED_STATE is $STATE"* ]]
    done
    kubectl get --raw /readyz
}
