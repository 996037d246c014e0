# shellcheck shell=bash
# Network namespaces, the bridge between them, and routes. Nothing is created in the host network namespace.

# netns_up NAME: creates the namespace unless it exists. The alias of its loopback interface identifies the owner,
# because testbeds with different state directories share the machine's namespace names.
netns_up() {
    # After the machine has restarted, the namespace is no longer mounted, and /run/netns/NAME is a plain file.
    if [ -e "/run/netns/$1" ] && ! nsenter "--net=/run/netns/$1" true 2>/dev/null; then rm -f "/run/netns/$1"; fi
    netns_check "$1"
    [ -e "/run/netns/$1" ] || ip netns add "$1"
    ip -n "$1" link set lo up alias "$SITE"
}

# netns_check NAME: fails if the namespace belongs to another testbed.
netns_check() {
    local owner
    [ -e "/run/netns/$1" ] || return 0
    owner=$(ip -n "$1" -j link show lo 2>/dev/null | jq -r '.[0].ifalias // ""') || return 0
    if [ -n "$owner" ] && [ "$owner" != "$SITE" ]; then
        fail "another testbed is up: its FABRICBENCH_TESTBED_STATE is $(dirname "$owner")"
    fi
}

# control_network_up: creates the bridge, which also connects the API server to the pods (webhooks, kubectl proxy).
control_network_up() {
    netns_up "$CONTROL_NETNS"
    ip -n "$CONTROL_NETNS" link show "$BRIDGE" >/dev/null 2>&1 ||
        ip -n "$CONTROL_NETNS" link add "$BRIDGE" mtu "$BRIDGE_MTU" type bridge
    ip -n "$CONTROL_NETNS" addr replace "$CONTROL_ADDRESS/${NODE_RANGE#*/}" dev "$BRIDGE"
    ip -n "$CONTROL_NETNS" link set "$BRIDGE" up
    # Frames between nodes cross this bridge. They are filtered in the nodes' namespaces, not here.
    nsenter "--net=/run/netns/$CONTROL_NETNS" sysctl -qw net.bridge.bridge-nf-call-iptables=0
}

# node_network_up NODE: links the node to the bridge. There is no default route, so nothing in a node can reach other
# networks.
node_network_up() {
    local node=$1 netns port
    netns=$(node_netns "$node")
    port=$node
    netns_up "$netns"
    if ! ip -n "$netns" link show eth0 >/dev/null 2>&1; then
        ip -n "$CONTROL_NETNS" link del "$port" 2>/dev/null || true
        ip -n "$CONTROL_NETNS" link add "$port" mtu "$BRIDGE_MTU" type veth peer name eth0 netns "$netns" mtu "$BRIDGE_MTU"
    fi
    ip -n "$CONTROL_NETNS" link set "$port" master "$BRIDGE" up
    ip -n "$netns" addr replace "$(node_address "$node")/${NODE_RANGE#*/}" dev eth0
    ip -n "$netns" link set eth0 up
    # The CNI plugin would create the bridge of the pods with the first pod, but the multicast router needs it earlier.
    ip -n "$netns" link show "$POD_BRIDGE" >/dev/null 2>&1 ||
        ip -n "$netns" link add "$POD_BRIDGE" mtu "$BRIDGE_MTU" type bridge
    ip -n "$netns" link set "$POD_BRIDGE" up
    # Without a default route, packets to services need this route to reach kube-proxy's rules, which also reject
    # packets to services without endpoints.
    ip -n "$netns" route replace "$SERVICE_RANGE" via "$CONTROL_ADDRESS"
    nsenter "--net=/run/netns/$netns" sysctl -qw net.ipv4.ip_forward=1 net.bridge.bridge-nf-call-iptables=1
    ip -n "$CONTROL_NETNS" route replace "$(node_pod_range "$node")" via "$(node_address "$node")"
}

# node_multicast_up NODE: routes multicast datagrams between the node's pods and the other nodes, like a fabric that forwards
# multicast.
node_multicast_up() {
    local node=$1 dir
    dir=$(node_dir "$node")
    render_to "$dir/smcroute.conf" "$HERE/config/smcroute.conf" "PODS=$POD_BRIDGE" "GROUPS=$MULTICAST_GROUPS"
    process_start "multicast-$node" "$(node_netns "$node")" smcrouted -n -N -f "$dir/smcroute.conf" \
        -P "$dir/smcroute.pid" -u "$dir/smcroute.sock"
    await_process "multicast-$node" 20 "the multicast routes of $node" \
        nsenter "--net=/run/netns/$(node_netns "$node")" grep -qw "$POD_BRIDGE" /proc/net/ip_mr_vif
}

# node_routes_up: adds static routes between the nodes' pod ranges, instead of an overlay network.
node_routes_up() {
    local node other
    for node in $(node_names); do
        for other in $(node_names); do
            [ "$node" != "$other" ] || continue
            ip -n "$(node_netns "$node")" route replace "$(node_pod_range "$other")" via "$(node_address "$other")"
        done
    done
}
