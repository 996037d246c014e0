# shellcheck shell=bash
# The sequence of steps in `up` and `down`.

cluster_up() {
    local started=$SECONDS node pause coredns
    [[ $NODE_COUNT =~ ^[1-$NODE_COUNT_MAX]$ ]] || fail "invalid --nodes '$NODE_COUNT': must be a number from 1 to $NODE_COUNT_MAX"
    preflight
    # Only a new cluster needs free space; an existing one already occupies it.
    [ -e "$SITE" ] || free_space "$STATE" FABRICBENCH_TESTBED_STATE "$FREE_GIB" "a new cluster"
    tools_up kubernetes etcd coredns policy
    netns_check "$SITE_NETNS"
    finish_down
    port_free
    setting_fix kubernetes "$KUBERNETES"
    setting_fix node-count "$NODE_COUNT"
    huge_pages_up
    kubelet_dir_up
    control_network_up
    for node in $(node_names); do node_runtime_up "$node"; done
    node_routes_up
    api_up
    controllers_up
    for node in $(node_names); do node_kubelet_up "$node"; done
    pause=$(pause_archive)
    coredns=$(coredns_archive)
    archives_load "$(node_names)" "$pause" "$coredns"
    for node in $(node_names); do node_ready "$node"; done
    policies_up
    addons_up
    say "up in $((SECONDS - started)) s: $(node_names | wc -l) nodes, Kubernetes $(kubernetes_version)"
    say "export KUBECONFIG=$SITE/kubeconfig"
}

# kubelet_dir_up: creates the directory in which kubelets keep the sockets of device plugins. The path of this directory
# is not configurable. A marker file in the directory shows that the testbed created it.
kubelet_dir_up() {
    [ ! -e "$KUBELET_DIR" ] || return 0
    mkdir "$KUBELET_DIR"
    : >"$KUBELET_DIR/.fabricbench-testbed"
}

# finish_down: completes an interrupted `down`, because a partly removed cluster cannot be repaired.
finish_down() {
    if [ -e "$SITE/going-down" ]; then
        say "completing an interrupted \`down\`"
        site_down
    fi
    mkdir -p "$SITE"
    chmod 700 "$SITE"
}

# setting_fix NAME VALUE: the first `up` of a site fixes a setting in the file NAME of its directory; later commands must use the
# same value.
setting_fix() {
    local name=$1 value=$2 existing
    if [ -e "$SITE/$name" ]; then
        existing=$(<"$SITE/$name")
        [ "$existing" = "$value" ] ||
            fail "started with $name $existing, not $value: run \`testbed ${SITE_COMMAND}down\` first"
    else
        echo "$value" >"$SITE/$name.part"
        mv "$SITE/$name.part" "$SITE/$name"
    fi
}

cluster_down() {
    local started=$SECONDS
    site_down
    say "down in $((SECONDS - started)) s"
}

# api_only_up: starts only etcd and the API server, for controller tests. A cluster may be running at the same time.
api_only_up() {
    local started=$SECONDS
    preflight
    tools_up kubernetes etcd
    netns_check "$SITE_NETNS"
    finish_down
    port_free
    setting_fix kubernetes "$KUBERNETES"
    netns_up "$SITE_NETNS"
    api_up
    say "up in $((SECONDS - started)) s: Kubernetes $(kubernetes_version)"
    printf '%s\n' "$SITE/kubeconfig"
}
