# shellcheck shell=bash
# Simulated devices for Dynamic Resource Allocation, an add-on that is installed only on request: one driver process for each
# node. While it is installed, the nodes offer no devices of device plugins, because both would offer the same devices.

# dra_up [SHAPE]: starts the driver on each node, or restarts it with other devices, and waits until it has published them.
dra_up() {
    local shape=${1:-p5} node dir
    [ $# -le 1 ] || fail "dra up takes at most one SHAPE (see testbed help)"
    tools_up dra
    kubectl apply -f "$HERE/manifests/device-classes.yaml" >/dev/null
    for node in $(node_names); do
        dir=$(node_dir "$node")
        process_stop "dra-$node"
        process_start "dra-$node" "$(node_netns "$node")" "$(tool dra dra)" -node "$node" -shape "$shape" \
            -kubeconfig "$dir/kubelet.kubeconfig" -kubelet-dir "$dir/kubelet"
        node_offer "$node" 0 0
    done
    for node in $(node_names); do
        await_process "dra-$node" 60 "the devices of $node" dra_published "$node"
    done
}

# dra_published NODE: whether both drivers have published their devices.
dra_published() {
    [ "$(kubectl get resourceslices --field-selector "spec.nodeName=$1" -o name | wc -l)" = 2 ]
}

# dra_released: whether no pod uses claimed devices.
dra_released() { [ ! "$(kubectl get resourceclaims --all-namespaces -o name)" ]; }

# dra_down: stops the drivers, deletes what they published, and adds the devices of the device plugins again. Without its driver, a
# kubelet cannot release the devices of a pod that has ended, and the pod occupies its node.
dra_down() {
    local node
    await 60 "the release of all claimed devices (testbed kubectl get resourceclaims -A)" dra_released
    for node in $(node_names); do
        process_stop "dra-$node"
        kubectl delete resourceslices --field-selector "spec.nodeName=$node" >/dev/null
        node_offer "$node"
    done
    kubectl delete -f "$HERE/manifests/device-classes.yaml" --ignore-not-found >/dev/null
}
