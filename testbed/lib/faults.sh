# shellcheck shell=bash
# Faults of nodes and pods. Each has a command that takes it back; `up` takes all of a node's back but a full disk.

# node_command VERB NODE
node_command() {
    local verb=${1:-} node=${2:-} folder
    node_check "$node"
    folder=$(node_folder "$node")
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
        fill) node_fill "$folder" ;;
        free) node_free "$node" "$folder" ;;
        *) fail "unknown: node $verb (stop, start, crash, partition, heal, fill, free)" ;;
    esac
}

# node_fill FOLDER: leaves 16 MiB, far below the 5 % at which kubelet evicts, and enough to say so.
node_fill() {
    local free
    free=$(df --output=avail -B1 "$1" | tail -n 1)
    [ "$free" -gt $((16 << 20)) ] || return 0
    fallocate -l $((free - (16 << 20))) "$1/filled"
}

# node_free NODE FOLDER
node_free() {
    rm -f "$2/filled"
    # A kubelet that saw the disk full may still be removing images; when it says that the pressure is over, it is not.
    if process_alive "kubelet-$1"; then
        await 180 "$1 to see its disk free" node_condition "$1" DiskPressure False || fail "testbed logs kubelet-$1"
    fi
    images_restore "$1"
}

# pod_command cut|mend POD [NAMESPACE]: at the node's end of the pod's link, so that the pod keeps address and routes.
pod_command() {
    local verb=${1:-} pod=${2:?pod cut|mend POD [NAMESPACE]} namespace=${3:-default} node link
    node=$(kubectl -n "$namespace" get pod "$pod" -o 'jsonpath={.spec.nodeName}')
    link=$(pod_link "$node" "$(kubectl -n "$namespace" get pod "$pod" -o 'jsonpath={.metadata.uid}')")
    [ -n "$link" ] || fail "pod $pod has no link on $node: it does not run, or uses the node's network"
    case $verb in
        cut) ip -n "$(node_netns "$node")" link set "$link" down ;;
        mend) ip -n "$(node_netns "$node")" link set "$link" up ;;
        *) fail "unknown: pod $verb (cut, mend)" ;;
    esac
}

# pod_link NODE UID: the name, in the node, of the link to the pod.
pod_link() {
    local pid index
    pid=$(site_cgroups | { grep -F "pod$2/" || true; } | while read -r folder; do cat "$folder/cgroup.procs"; done | awk "NR == 1")
    [ -n "$pid" ] || return 0
    index=$(nsenter "--net=/proc/$pid/ns/net" ip -j link show eth0 | jq '.[0].link_index')
    ip -n "$(node_netns "$1")" -j link | jq -r --argjson index "$index" '.[] | select(.ifindex == $index and .master == "pods") | .ifname'
}
