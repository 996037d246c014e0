# shellcheck shell=bash
# A node: a disk of limited size, a network namespace, a cgroup, and its own containerd, kubelet and kube-proxy. (Two
# kubelets that share a containerd would delete each other's pods.)

node_names() {
    local count index
    count=$(cat "$SITE/node-count" 2>/dev/null) || return 0
    for ((index = 1; index <= count; index++)); do echo "node-$index"; done
}

# node_check NAME: fails unless NAME is a node of this cluster.
node_check() {
    local node
    for node in $(node_names); do
        if [ "$node" = "${1:-}" ]; then return 0; fi
    done
    fail "unknown node '${1:-}' (nodes: $(node_names | xargs))"
}

# node_runtime_up NODE: sets up the node without its kubelet, and waits until its containerd responds, so that images
# can be loaded.
node_runtime_up() {
    local node=$1
    node_disk_up "$node"
    node_network_up "$node"
    node_multicast_up "$node"
    node_cgroup_up "$node"
    node_containerd_up "$node"
}

# node_disk_up NODE: mounts a separate file system, so that a full disk affects only this node.
node_disk_up() {
    local dir
    dir=$(node_dir "$1")
    mkdir -p "$dir"
    if mountpoint -q "$dir"; then return 0; fi
    if [ ! -e "$dir.disk" ]; then
        truncate -s "$NODE_DISK" "$dir.disk.part"
        mkfs.ext4 -q -F -m 0 -O ^has_journal "$dir.disk.part"
        mv "$dir.disk.part" "$dir.disk"
    fi
    mount -o loop,noatime "$dir.disk" "$dir"
    # Volumes with mount propagation need a shared mount, and the machine's root mount may be private.
    mount --make-rshared "$dir"
}

# node_cgroup_up NODE: creates the kubelet's cgroupRoot, which must exist in every cgroup hierarchy of the machine.
node_cgroup_up() {
    local hierarchy dir file
    for hierarchy in $(cgroup_hierarchies); do
        for dir in "$hierarchy/$CGROUP" "$hierarchy/$CGROUP/$1"; do
            mkdir -p "$dir"
            enable_controllers "$dir/.."
            # A new cpuset (v1) is empty and accepts no process until it has CPUs and memory nodes.
            for file in cpuset.cpus cpuset.mems; do
                if [ -e "$dir/cgroup.clone_children" ] && [ -e "$dir/$file" ]; then
                    cat "$dir/../$file" >"$dir/$file"
                fi
            done
        done
    done
}

# enable_controllers DIR: in a cgroup v2 hierarchy, enables the controllers for the child cgroups of DIR.
enable_controllers() {
    local controller
    [ -e "$1/cgroup.subtree_control" ] || return 0
    for controller in cpu cpuset memory pids hugetlb; do
        if grep -qw "$controller" "$1/cgroup.controllers"; then echo "+$controller" >"$1/cgroup.subtree_control"; fi
    done
}

cgroup_hierarchies() { findmnt -rnt cgroup,cgroup2 -o TARGET; }

node_containerd_up() {
    local node=$1 dir
    dir=$(node_dir "$node")
    mkdir -p "$dir/cni"
    render_to "$dir/containerd.toml" "$HERE/config/containerd.toml" "DIR=$dir" "PAUSE=$PAUSE_IMAGE"
    render_to "$dir/cni/10-bridge.conflist" "$HERE/config/cni.conflist" "DIR=$dir" "BRIDGE=$POD_BRIDGE" "MTU=$BRIDGE_MTU" \
        "POD_RANGE=$(node_pod_range "$node")"
    process_start "containerd-$node" "$(node_netns "$node")" containerd --config "$dir/containerd.toml"
    await_process "containerd-$node" 120 "containerd on $node" node_ctr "$node" version
}

# node_ctr NODE ARGUMENT...: runs containerd's client in the kubelet's containerd namespace.
node_ctr() {
    local dir
    dir=$(node_dir "$1")
    shift
    ctr --address "$dir/containerd.sock" --connect-timeout 2s --namespace k8s.io "$@"
}

# node_kubelet_up NODE: starts the kubelet and kube-proxy.
node_kubelet_up() {
    local node=$1 dir address server=https://$CONTROL_ADDRESS:6443
    dir=$(node_dir "$node")
    address=$(node_address "$node")
    [ -e "$dir/kubelet.kubeconfig" ] || kubeconfig "$dir/kubelet.kubeconfig" "$node" \
        "/O=system:nodes/CN=system:node:$node" "$server" "DNS:$node,IP:$address"
    [ -e "$dir/kube-proxy.kubeconfig" ] || kubeconfig "$dir/kube-proxy.kubeconfig" kube-proxy \
        "/CN=system:kube-proxy" "$server"
    render_to "$dir/kubelet.yaml" "$HERE/config/kubelet.yaml" "DIR=$dir" "NODE=$node" "ADDRESS=$address" \
        "CGROUP=$CGROUP" "DNS=$DNS_ADDRESS" "CERTIFICATES=$SITE/certificates"
    render_to "$dir/kube-proxy.yaml" "$HERE/config/kube-proxy.yaml" "NODE=$node" "ADDRESS=$address" \
        "POD_RANGE=$POD_RANGE" "KUBECONFIG=$dir/kube-proxy.kubeconfig"
    if ! process_alive "kubelet-$node"; then node_heartbeat "$node" >"$dir/heartbeat-before"; fi
    process_start "kubelet-$node" "$(node_netns "$node")" "$(kubernetes kubelet)" \
        --config="$dir/kubelet.yaml" --kubeconfig="$dir/kubelet.kubeconfig" --root-dir="$dir/kubelet" \
        --cert-dir="$dir/kubelet/pki" --hostname-override="$node" --node-ip="$address" \
        --node-labels="node.kubernetes.io/instance-type=$INSTANCE_TYPE,topology.kubernetes.io/zone=$ZONE"
    process_start "kube-proxy-$node" "$(node_netns "$node")" "$(kubernetes kube-proxy)" \
        --config="$dir/kube-proxy.yaml"
}

# node_ready NODE: waits until the kubelet reports Ready, then adds the devices. They must be added after every start,
# because a kubelet's first report sets resources without a device plugin to zero.
node_ready() {
    await_process "kubelet-$1" 180 "a status report from $1" node_reported "$1"
    await_process "kubelet-$1" 180 "node $1 to be Ready" node_condition "$1" Ready True
    node_offer "$1"
}

node_reported() { [ "$(node_heartbeat "$1")" != "$(<"$(node_dir "$1")/heartbeat-before")" ]; }

# node_heartbeat NODE: prints the time of the kubelet's last report, or nothing before the first one.
node_heartbeat() {
    kubectl get node "$1" --ignore-not-found -o "jsonpath={.status.conditions[?(@.type=='Ready')].lastHeartbeatTime}"
}

# node_condition NODE CONDITION STATUS: whether the condition has this status.
node_condition() {
    [ "$(kubectl get node "$1" -o "jsonpath={.status.conditions[?(@.type=='$2')].status}")" = "$3" ]
}

# node_offer NODE [EFA GPU]: sets the numbers of simulated devices in the node's status, so that the scheduler treats them as
# real.
node_offer() {
    kubectl patch node "$1" --subresource=status --type=merge --patch "$(jq -nc \
        --arg efa "${2-$EFA_COUNT}" --arg gpu "${3-$GPU_COUNT}" \
        '{"vpc.amazonaws.com/efa": $efa, "nvidia.com/gpu": $gpu} | {status: {capacity: ., allocatable: .}}')" >/dev/null
}
