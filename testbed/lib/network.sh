# shellcheck shell=bash
# Network namespaces, the bridge between them, and routes. Nothing of it is in the machine's own namespace.

# netns_up NAME: exists, with loopback. The alias of loopback says whose it is: names are the machine's, and another testbed
# may have another state folder.
netns_up() {
    # A name whose mount is gone (the machine was restarted) is a plain file.
    if [ -e "/run/netns/$1" ] && ! nsenter "--net=/run/netns/$1" true 2>/dev/null; then rm -f "/run/netns/$1"; fi
    netns_check "$1"
    [ -e "/run/netns/$1" ] || ip netns add "$1"
    ip -n "$1" link set lo up alias "$SITE"
}

# netns_check NAME: fails when it is another testbed's.
netns_check() {
    local owner
    [ -e "/run/netns/$1" ] || return 0
    owner=$(ip -n "$1" -j link show lo 2>/dev/null | jq -r '.[0].ifalias // ""') || return 0
    if [ -n "$owner" ] && [ "$owner" != "$SITE" ]; then
        fail "another testbed is up: its FABRICBENCH_TESTBED_STATE is $(dirname "$owner")"
    fi
}

# control_network_up: the bridge, and the ways from the API server to the pods (webhooks, kubectl proxy).
control_network_up() {
    netns_up "$CONTROL_NETNS"
    ip -n "$CONTROL_NETNS" link show "$BRIDGE" >/dev/null 2>&1 ||
        ip -n "$CONTROL_NETNS" link add "$BRIDGE" mtu "$BRIDGE_MTU" type bridge
    ip -n "$CONTROL_NETNS" addr replace "$CONTROL_ADDRESS/${NODE_RANGE#*/}" dev "$BRIDGE"
    ip -n "$CONTROL_NETNS" link set "$BRIDGE" up
    # Frames between nodes pass this bridge; they are filtered in the nodes, not here.
    nsenter "--net=/run/netns/$CONTROL_NETNS" sysctl -qw net.bridge.bridge-nf-call-iptables=0
}

# node_network_up NODE: a link to the bridge. No default route: nothing in a node reaches out of the testbed.
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
    # As a default route would: a packet to a service gets as far as kube-proxy's rules, which refuse one without endpoints.
    ip -n "$netns" route replace "$SERVICE_RANGE" via "$CONTROL_ADDRESS"
    nsenter "--net=/run/netns/$netns" sysctl -qw net.ipv4.ip_forward=1 net.bridge.bridge-nf-call-iptables=1
    ip -n "$CONTROL_NETNS" route replace "$(node_pod_range "$node")" via "$(node_address "$node")"
}

# node_routes_up: static routes between the nodes' pod ranges, in place of an overlay network.
node_routes_up() {
    local here there
    for here in $(node_names); do
        for there in $(node_names); do
            [ "$here" != "$there" ] || continue
            ip -n "$(node_netns "$here")" route replace "$(node_pod_range "$there")" via "$(node_address "$there")"
        done
    done
}
