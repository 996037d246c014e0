# shellcheck shell=bash
# A node: a disk of limited size, a namespace, a cgroup, and its own containerd, kubelet and kube-proxy.
# (Two kubelets on one containerd would delete each other's pods.)

node_names() {
    local count index
    count=$(cat "$SITE/node-count" 2>/dev/null) || return 0
    for ((index = 1; index <= count; index++)); do echo "node-$index"; done
}

# node_check NAME: it is one of this cluster's nodes.
node_check() {
    local node
    for node in $(node_names); do
        if [ "$node" = "${1:-}" ]; then return 0; fi
    done
    fail "no node '${1:-}' (nodes: $(node_names | xargs))"
}

# node_runtime_up NODE: up to a containerd that answers; the images come next.
node_runtime_up() {
    local node=$1
    node_disk_up "$node"
    node_network_up "$node"
    node_cgroup_up "$node"
    node_containerd_up "$node"
}

# node_disk_up NODE: a file system of its own, so that a full disk is this node's alone.
node_disk_up() {
    local folder
    folder=$(node_folder "$1")
    mkdir -p "$folder"
    if mountpoint -q "$folder"; then return 0; fi
    if [ ! -e "$folder.disk" ]; then
        truncate -s "$NODE_DISK" "$folder.disk.part"
        mkfs.ext4 -q -F -m 0 -O ^has_journal "$folder.disk.part"
        mv "$folder.disk.part" "$folder.disk"
    fi
    mount -o loop,noatime "$folder.disk" "$folder"
    # Volumes that propagate mounts need it, and the machine's own root may be private.
    mount --make-rshared "$folder"
}

# node_cgroup_up NODE: kubelet's cgroupRoot must be there, in each hierarchy that the machine has.
node_cgroup_up() {
    local hierarchy folder file
    for hierarchy in $(cgroup_hierarchies); do
        for folder in "$hierarchy/$CGROUP" "$hierarchy/$CGROUP/$1"; do
            mkdir -p "$folder"
            controllers_passed_on "$folder/.."
            # A new cpuset (v1) is empty, and takes no process until it is given processors and memory.
            for file in cpuset.cpus cpuset.mems; do
                if [ -e "$folder/cgroup.clone_children" ] && [ -e "$folder/$file" ]; then
                    cat "$folder/../$file" >"$folder/$file"
                fi
            done
        done
    done
}

# controllers_passed_on FOLDER: in a hierarchy of version 2, the folders below have the controllers that it passes on.
controllers_passed_on() {
    local controller
    [ -e "$1/cgroup.subtree_control" ] || return 0
    for controller in cpu cpuset memory pids hugetlb; do
        if grep -qw "$controller" "$1/cgroup.controllers"; then echo "+$controller" >"$1/cgroup.subtree_control"; fi
    done
}

cgroup_hierarchies() { findmnt -rnt cgroup,cgroup2 -o TARGET; }

node_containerd_up() {
    local node=$1 folder
    folder=$(node_folder "$node")
    mkdir -p "$folder/cni"
    render_to "$folder/containerd.toml" "$HERE/config/containerd.toml" "FOLDER=$folder" "PAUSE=$PAUSE_IMAGE"
    render_to "$folder/cni/10-bridge.conflist" "$HERE/config/cni.conflist" "FOLDER=$folder" "MTU=$BRIDGE_MTU" \
        "POD_RANGE=$(node_pod_range "$node")"
    process_start "containerd-$node" "$(node_netns "$node")" containerd --config "$folder/containerd.toml"
    await_process "containerd-$node" 120 "containerd of $node" node_ctr "$node" version
}

# node_ctr NODE ARGUMENT...: containerd's client, in the name space that kubelet uses.
node_ctr() {
    local folder
    folder=$(node_folder "$1")
    shift
    ctr --address "$folder/containerd.sock" --connect-timeout 2s --namespace k8s.io "$@"
}

# node_kubelet_up NODE: kubelet and kube-proxy.
node_kubelet_up() {
    local node=$1 folder address server=https://$CONTROL_ADDRESS:6443
    folder=$(node_folder "$node")
    address=$(node_address "$node")
    [ -e "$folder/kubelet.kubeconfig" ] || kubeconfig "$folder/kubelet.kubeconfig" "$node" \
        "/O=system:nodes/CN=system:node:$node" "$server" "DNS:$node,IP:$address"
    [ -e "$folder/kube-proxy.kubeconfig" ] || kubeconfig "$folder/kube-proxy.kubeconfig" kube-proxy \
        "/CN=system:kube-proxy" "$server"
    render_to "$folder/kubelet.yaml" "$HERE/config/kubelet.yaml" "FOLDER=$folder" "NODE=$node" "ADDRESS=$address" \
        "CGROUP=$CGROUP" "DNS=$DNS_ADDRESS" "CERTIFICATES=$SITE/certificates"
    render_to "$folder/kube-proxy.yaml" "$HERE/config/kube-proxy.yaml" "NODE=$node" "ADDRESS=$address" \
        "POD_RANGE=$POD_RANGE" "KUBECONFIG=$folder/kube-proxy.kubeconfig"
    if ! process_alive "kubelet-$node"; then node_heartbeat "$node" >"$folder/heartbeat-before"; fi
    process_start "kubelet-$node" "$(node_netns "$node")" "$(kubernetes kubelet)" \
        --config="$folder/kubelet.yaml" --kubeconfig="$folder/kubelet.kubeconfig" --root-dir="$folder/kubelet" \
        --cert-dir="$folder/kubelet/pki" --hostname-override="$node" --node-ip="$address" \
        --node-labels="node.kubernetes.io/instance-type=$INSTANCE_TYPE,topology.kubernetes.io/zone=$ZONE"
    process_start "kube-proxy-$node" "$(node_netns "$node")" "$(kubernetes kube-proxy)" \
        --config="$folder/kube-proxy.yaml"
}

# node_ready NODE: awaits Ready as this kubelet reports it, then adds the devices. In its first report a kubelet sets
# resources that no plugin offers to zero, so this follows every start.
node_ready() {
    await_process "kubelet-$1" 180 "node $1" node_reported "$1"
    await_process "kubelet-$1" 180 "node $1 to be Ready" node_condition "$1" Ready True
    node_offer "$1"
}

node_reported() { [ "$(node_heartbeat "$1")" != "$(<"$(node_folder "$1")/heartbeat-before")" ]; }

# node_heartbeat NODE: when its kubelet last reported; empty before the first time.
node_heartbeat() {
    kubectl get node "$1" --ignore-not-found -o "jsonpath={.status.conditions[?(@.type=='Ready')].lastHeartbeatTime}"
}

# node_condition NODE CONDITION STATUS: whether it is so.
node_condition() {
    [ "$(kubectl get node "$1" -o "jsonpath={.status.conditions[?(@.type=='$2')].status}")" = "$3" ]
}

# node_offer NODE: the devices that it claims to have; the scheduler then treats them as real.
node_offer() {
    kubectl patch node "$1" --subresource=status --type=merge --patch "$(jq -nc \
        --arg efa "$EFA_COUNT" --arg gpu "$GPU_COUNT" \
        '{"vpc.amazonaws.com/efa": $efa, "nvidia.com/gpu": $gpu} | {status: {capacity: ., allocatable: .}}')" >/dev/null
}
