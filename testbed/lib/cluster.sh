# shellcheck shell=bash
# `up` and `down` as a whole: each reads like a list of contents.

cluster_up() {
    local started=$SECONDS node
    [[ $NODE_COUNT =~ ^[1-$NODE_COUNT_MAX]$ ]] || fail "nodes: '$NODE_COUNT' is not a number from 1 to $NODE_COUNT_MAX"
    preflight
    tools_up kubernetes etcd coredns policy
    netns_check "$SITE_NETNS"
    finish_down
    port_free
    cluster_size
    huge_pages_up
    kubelet_folder_up
    control_network_up
    for node in $(node_names); do node_runtime_up "$node"; done
    node_routes_up
    api_up
    controllers_up
    for node in $(node_names); do node_kubelet_up "$node"; done
    image_load "$(pause_archive)"
    image_load "$(coredns_archive)"
    for node in $(node_names); do node_ready "$node"; done
    policies_up
    addons_up
    say "up in $((SECONDS - started)) s: $(node_names | wc -l) nodes"
    say "export KUBECONFIG=$SITE/kubeconfig"
}

# kubelet_folder_up: kubelets keep device plugins' sockets in a folder that no setting moves. Marked, where it is ours.
kubelet_folder_up() {
    [ ! -e "$KUBELET_FOLDER" ] || return 0
    mkdir "$KUBELET_FOLDER"
    : >"$KUBELET_FOLDER/.fabricbench-testbed"
}

# finish_down: a `down` that was cut short is finished first; half of a cluster cannot be repaired.
finish_down() {
    if [ -e "$SITE/going-down" ]; then
        say "finishing a \`down\` that was cut short"
        site_down
    fi
    mkdir -p "$SITE"
    chmod 700 "$SITE"
}

# cluster_size: fixed by the first `up`.
cluster_size() {
    local there
    if [ -e "$SITE/node-count" ]; then
        there=$(<"$SITE/node-count")
        [ "$there" = "$NODE_COUNT" ] || fail "the cluster has $there nodes, not $NODE_COUNT: \`testbed down\` first"
    else
        echo "$NODE_COUNT" >"$SITE/node-count.part"
        mv "$SITE/node-count.part" "$SITE/node-count"
    fi
}

cluster_down() {
    local started=$SECONDS
    site_down
    say "down in $((SECONDS - started)) s"
}

# api_only_up: etcd and the API server, for tests of controllers. Beside a cluster or without one.
api_only_up() {
    local started=$SECONDS
    preflight
    tools_up kubernetes etcd
    netns_check "$SITE_NETNS"
    finish_down
    port_free
    netns_up "$SITE_NETNS"
    api_up
    say "up in $((SECONDS - started)) s"
    printf '%s\n' "$SITE/kubeconfig"
}
