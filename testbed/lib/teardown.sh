# shellcheck shell=bash
# Takes everything away again, from whatever state it is in. The order matters: who would restart or recreate a
# thing goes before it; mounts and cgroups go when no process holds them.

site_down() {
    netns_check "$SITE_NETNS"
    if [ ! -e "$SITE" ] && [ ! -e "/run/netns/$SITE_NETNS" ] && [ -z "$(members)" ]; then return 0; fi
    mkdir -p "$SITE"
    : >"$SITE/going-down"
    processes_down
    await 60 "the containers to end" containers_down || fail "processes in cgroup $CGROUP do not end"
    await 60 "every process to end" members_down || fail "these do not end: $(members | xargs)"
    shim_sockets_down
    await 20 "mounts under $SITE to go" mounts_down || fail "mounted still: $(site_mounts | xargs)"
    networks_down
    await 60 "cgroups to go" cgroups_down || fail "cgroups left: $(site_cgroups | xargs)"
    huge_pages_down
    strays_down
    rm -rf --one-file-system "$SITE"
    rmdir "$STATE" 2>/dev/null || true
}

# What reconciles goes first, so that nothing is recreated. Killed: what they would save is thrown away.
processes_down() {
    local name prefix
    for prefix in policy kube-proxy kubelet kube-scheduler kube-controller-manager kube-apiserver forward; do
        for name in $(process_names "$prefix"); do process_stop "$name" KILL; done
    done
}

# containers_down: kills what runs in the nodes' cgroups; fails while something does.
containers_down() {
    local pids
    [ "$SITE_NETNS" = "$CONTROL_NETNS" ] || return 0
    pids=$(site_cgroups | while read -r folder; do cat "$folder/cgroup.procs" 2>/dev/null || true; done)
    [ -n "$pids" ] || return 0
    xargs -r kill -KILL 2>/dev/null <<<"$pids" || true
    return 1
}

# members_down: kills containerd, its shims, etcd and whatever else bears this site's mark; fails while one lives.
members_down() {
    local pid left=1
    for pid in $(members); do
        kill -KILL "$pid" 2>/dev/null || true
        # A zombie is no one's but its parent's to clear.
        if process_start_time "$pid" >/dev/null; then left=0; fi
    done
    [ "$left" = 1 ]
}

# Shims listen in a folder that no setting moves; killed ones leave their sockets there.
shim_sockets_down() {
    local file address
    for file in "$SITE"/nodes/*/containerd/state/io.containerd.runtime.v2.task/k8s.io/*/address; do
        [ -e "$file" ] || continue
        address=$(<"$file")
        rm -f "${address#unix://}"
    done
    # A containerd that was repaired has forgotten the shims before: theirs are the sockets that no one answers.
    for file in /run/containerd/s/*; do
        if [ -S "$file" ] && ! socat -u OPEN:/dev/null "UNIX-CONNECT:$file" 2>/dev/null; then rm -f "$file"; fi
    done
    rmdir /run/containerd/fifo /run/containerd/runc/k8s.io /run/containerd/runc /run/containerd/s /run/containerd \
        2>/dev/null || true
}

site_mounts() {
    findmnt -rno TARGET | awk -v folder="$SITE/" 'index($0, folder) == 1' | sort -r
}

mounts_down() {
    local target
    # A target with blanks is written with \x20.
    for target in $(site_mounts); do umount "$(printf '%b' "$target")" 2>/dev/null || true; done
    [ -z "$(site_mounts)" ]
}

# networks_down: namespaces take their links, routes and rules with them.
networks_down() {
    local netns
    for netns in /run/netns/*; do
        case $(basename "$netns") in
            "$SITE_NETNS") ;;
            fbt-node-*) [ "$SITE_NETNS" = "$CONTROL_NETNS" ] || continue ;;
            *) continue ;;
        esac
        ip netns del "$(basename "$netns")" 2>/dev/null || rm -f "$netns"
    done
    # `ip netns add` made this folder a mount of its own, and does so again when it is gone.
    if rmdir /run/netns 2>/dev/null; then return 0; fi
    if [ -z "$(ls -A /run/netns 2>/dev/null)" ] && mountpoint -q /run/netns; then
        umount /run/netns && rmdir /run/netns
    fi
}

# site_cgroups: folders of the nodes' cgroups, deepest first.
site_cgroups() {
    local hierarchy
    [ "$SITE_NETNS" = "$CONTROL_NETNS" ] || return 0
    for hierarchy in $(cgroup_hierarchies); do
        [ -d "$hierarchy/$CGROUP" ] || continue
        find "$hierarchy/$CGROUP" -depth -type d 2>/dev/null || true
    done
}

cgroups_down() {
    site_cgroups | xargs -r rmdir 2>/dev/null || true
    [ -z "$(site_cgroups)" ]
}

# strays_down: files that programs write where no setting moves them to.
strays_down() {
    [ "$SITE_NETNS" = "$CONTROL_NETNS" ] || return 0
    { grep -rlsF "$SITE/" /var/lib/cni/results || true; } | xargs -r rm -f
    rmdir /var/lib/cni/results /var/lib/cni 2>/dev/null || true
    if [ -e "$KUBELET_FOLDER/.fabricbench-testbed" ]; then rm -rf --one-file-system "$KUBELET_FOLDER"; fi
}
