# Kills the cluster in the ways it can die, and looks at what is left at the end.

setup() { load lib/common; }

kill_everything() {
    { members; find /sys/fs/cgroup -path "*/$CGROUP/*" -name cgroup.procs -exec cat {} +; } | sort -u |
        xargs -r kill -KILL 2>/dev/null || true # one may go with another
}

cluster_works() {
    kubectl wait node --all --for=condition=Ready --timeout="${PATIENCE}s"
    kubectl -n kube-system rollout status deployment/coredns --timeout="${PATIENCE}s"
}

@test "after kill -9 of everything, up repairs, and objects are still there" {
    kubectl create configmap kept --from-literal=a=b
    kill_everything
    run "$TESTBED" status
    [ "$status" -eq 1 ]
    "$TESTBED" up --nodes 2
    cluster_works
    kubectl get configmap kept
}

@test "after an up that was cut short, up goes on" {
    "$TESTBED" down
    timeout --signal=KILL 4 "$TESTBED" up --nodes 2 || true
    # What was killed holds the lock until it is gone.
    flock --wait "$PATIENCE" "$LOCK_FOLDER/$CONTROL_NETNS" true
    "$TESTBED" up --nodes 2
    cluster_works
}

@test "after a down that was cut short, up makes a new cluster" {
    kubectl create configmap old --from-literal=a=b
    # It stops where the mounts are taken away: one of them is in use.
    folder=$SITE/nodes/node-1
    sleep 300 <"$folder/containerd.toml" &
    holder=$!
    run "$TESTBED" down
    kill "$holder"
    [ "$status" -ne 0 ]
    [[ $output == *"mounted still: $folder"* ]]
    run "$TESTBED" status
    [[ $output == *"not finished"* ]]
    "$TESTBED" up --nodes 2
    cluster_works
    run kubectl get configmap old
    [ "$status" -ne 0 ]
}

@test "down finds a process whose record is lost" {
    rm "$SITE"/run/kubelet-node-1.pid "$SITE"/run/etcd.pid
    "$TESTBED" down
    [ -z "$(members)" ]
}

@test "down works when part of its folder was removed by hand" {
    "$TESTBED" up --nodes 1
    rm -rf "$SITE"/{run,config,certificates,etcd,kubeconfig,node-count}
    "$TESTBED" down
    [ -z "$(members)" ]
}

# left: what the machine has that it had not before.
left() { comm -13 <(sort "$BATS_SUITE_TMPDIR/machine-before") <(machine_listing | sort); }

nothing_left() { [ -z "$(left)" ]; }

@test "down leaves nothing" {
    # The kernel takes links and cgroups away a moment after it was told.
    await 20 "nothing to be left" nothing_left || {
        left
        false
    }
}

@test "down of what is down is no error" {
    "$TESTBED" down
}
