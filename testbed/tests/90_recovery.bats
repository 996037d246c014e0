# Kills the cluster in different states, and checks at the end that nothing remains.

setup() { load lib/common; }

kill_everything() {
    { marked_pids; find /sys/fs/cgroup -path "*/$CGROUP/*" -name cgroup.procs -exec cat {} +; } | sort -u |
        xargs -r kill -KILL 2>/dev/null || true # a process may already have ended because another was killed
}

cluster_works() {
    kubectl wait node --all --for=condition=Ready --timeout="${TIMEOUT}s"
    kubectl -n kube-system rollout status deployment/coredns --timeout="${TIMEOUT}s"
}

@test "up repairs the cluster after kill -9 of all processes and keeps its objects" {
    kubectl create configmap kept --from-literal=a=b
    kill_everything
    run "$TESTBED" status
    [ "$status" -eq 1 ]
    "$TESTBED" up --nodes 2
    cluster_works
    kubectl get configmap kept
}

@test "up completes an up that was interrupted" {
    "$TESTBED" down
    timeout --signal=KILL 4 "$TESTBED" up --nodes 2 || true
    # The killed command holds the lock until it has exited.
    flock --wait "$TIMEOUT" "$LOCK_DIR/$CONTROL_NETNS" true
    "$TESTBED" up --nodes 2
    cluster_works
}

@test "up creates a new cluster after an interrupted down" {
    kubectl create configmap old --from-literal=a=b
    # A file that is in use makes `down` fail when it removes the mounts.
    dir=$SITE/nodes/node-1
    # shellcheck disable=SC2217  # the process keeps a file of the testbed open
    sleep 300 <"$dir/containerd.toml" &
    holder=$!
    run "$TESTBED" down
    kill "$holder"
    [ "$status" -ne 0 ]
    [[ $output == *"still mounted: $dir"* ]]
    run "$TESTBED" status
    [[ $output == *"was interrupted"* ]]
    "$TESTBED" up --nodes 2
    cluster_works
    run kubectl get configmap old
    [ "$status" -ne 0 ]
}

@test "down finds processes without a record" {
    rm "$SITE"/run/kubelet-node-1.pid "$SITE"/run/etcd.pid
    "$TESTBED" down
    [ -z "$(marked_pids)" ]
}

@test "down works after part of the state directory was removed" {
    "$TESTBED" up --nodes 1
    rm -rf "$SITE"/{run,config,certificates,etcd,kubeconfig,node-count}
    "$TESTBED" down
    [ -z "$(marked_pids)" ]
}

# leftovers: prints the entries of the machine listing that did not exist before the tests.
leftovers() { comm -13 <(sort "$BATS_SUITE_TMPDIR/machine-before") <(machine_listing | sort); }

nothing_left() { [ -z "$(leftovers)" ]; }

@test "down removes everything" {
    # The kernel removes links and cgroups asynchronously.
    await 20 "all leftovers to disappear" nothing_left || {
        leftovers
        false
    }
}

@test "down succeeds without a cluster" {
    "$TESTBED" down
}
