# shellcheck shell=bash
# Fault injection for nodes and pods. Each fault has a command that reverts it; `up` also reverts all node faults except
# a full disk.

# node_command VERB NODE: injects a fault into the node, or reverts one.
node_command() {
    local verb=${1:-} node=${2:-} dir
    node_check "$node"
    dir=$(node_dir "$node")
    case $verb in
        stop) process_end "kubelet-$node" ;;
        crash) process_end "containerd-$node" KILL ;;
        start)
            node_containerd_up "$node"
            node_kubelet_up "$node"
            node_ready "$node"
            ;;
        partition) ip -n "$CONTROL_NETNS" link set "$node" down ;;
        heal) ip -n "$CONTROL_NETNS" link set "$node" up ;;
        fill) node_fill "$dir" ;;
        free) node_free "$node" "$dir" ;;
        *) fail "unknown command: node $verb (use stop, start, crash, partition, heal, fill or free)" ;;
    esac
}

# node_fill DIR: leaves 16 MiB free, which is below the kubelet's eviction threshold of 5% but enough for it to report
# DiskPressure.
node_fill() {
    local free
    free=$(df --output=avail -B1 "$1" | tail -n 1)
    [ "$free" -gt $((16 << 20)) ] || return 0
    fallocate -l $((free - (16 << 20))) "$1/filled"
}

# node_free NODE DIR: reverts node_fill, and reloads the images that the kubelet removed under disk pressure.
node_free() {
    rm -f "$2/filled"
    # A kubelet under disk pressure may still be removing images. It has finished once it no longer reports disk
    # pressure.
    if process_alive "kubelet-$1"; then
        await 180 "$1 to report no disk pressure" node_condition "$1" DiskPressure False || fail "see testbed logs kubelet-$1"
    fi
    images_restore "$1"
}

# pod_command disconnect|reconnect POD [NAMESPACE]: sets the node's end of the pod's link down or up, so that the pod keeps
# its address and routes.
pod_command() {
    local verb=${1:-} pod=${2:?pod disconnect|reconnect POD [NAMESPACE]} namespace=${3:-default} node link
    node=$(kubectl -n "$namespace" get pod "$pod" -o 'jsonpath={.spec.nodeName}')
    link=$(pod_link "$node" "$(kubectl -n "$namespace" get pod "$pod" -o 'jsonpath={.metadata.uid}')")
    [ -n "$link" ] || fail "pod $pod has no link on $node: it is not running, or uses the host network"
    case $verb in
        disconnect) ip -n "$(node_netns "$node")" link set "$link" down ;;
        reconnect) ip -n "$(node_netns "$node")" link set "$link" up ;;
        *) fail "unknown command: pod $verb (use disconnect or reconnect)" ;;
    esac
}

# pod_link NODE UID: prints the name of the pod's link in the node's namespace.
pod_link() {
    local pid index
    pid=$(site_cgroups | { grep -F "pod$2/" || true; } | while read -r dir; do cat "$dir/cgroup.procs"; done | awk "NR == 1")
    [ -n "$pid" ] || return 0
    index=$(nsenter "--net=/proc/$pid/ns/net" ip -j link show eth0 | jq '.[0].link_index')
    ip -n "$(node_netns "$1")" -j link | jq -r --argjson index "$index" '.[] | select(.ifindex == $index and .master == "pods") | .ifname'
}
