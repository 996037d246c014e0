# shellcheck shell=bash
# Removes everything that the testbed created, whatever state the cluster is in. The order matters: a process that would
# recreate an object is ended before the object is removed, and mounts and cgroups are removed once no process uses
# them.

site_down() {
    netns_check "$SITE_NETNS"
    if [ ! -e "$SITE" ] && [ ! -e "/run/netns/$SITE_NETNS" ] && [ -z "$(marked_pids)" ]; then return 0; fi
    mkdir -p "$SITE"
    : >"$SITE/going-down"
    processes_down
    await 60 "containers to end" containers_down || fail "processes are still running in cgroup $CGROUP"
    await 60 "processes to end" marked_processes_down || fail "processes are still running: $(marked_pids | xargs)"
    # A kubelet without a record may have started another container before it was killed.
    await 60 "containers to end" containers_down || fail "processes are still running in cgroup $CGROUP"
    shim_sockets_down
    await 20 "mounts under $SITE to be removed" mounts_down || fail "still mounted: $(site_mounts | xargs)"
    networks_down
    await 60 "cgroups to be removed" cgroups_down || fail "cgroups remain: $(site_cgroups | xargs)"
    huge_pages_down
    stray_files_down
    rm -rf --one-file-system "$SITE"
    rmdir "$STATE" 2>/dev/null || true
}

# processes_down: kills the Kubernetes components first, so that nothing is recreated. No graceful shutdown is needed,
# because their state is discarded anyway.
processes_down() {
    local name prefix
    for prefix in policy kube-proxy kubelet kube-scheduler kube-controller-manager kube-apiserver forward; do
        for name in $(process_names "$prefix"); do process_stop "$name" KILL; done
    done
}

# containers_down: kills all processes in the nodes' cgroups; fails until none of them exists.
containers_down() {
    local pids
    [ "$SITE_NETNS" = "$CONTROL_NETNS" ] || return 0
    pids=$(site_cgroups | while read -r dir; do cat "$dir/cgroup.procs" 2>/dev/null || true; done)
    [ -n "$pids" ] || return 0
    xargs -r kill -KILL 2>/dev/null <<<"$pids" || true
    return 1
}

# marked_processes_down: kills containerd, its shims, etcd and all other processes with this site's mark; fails while any of
# them exists.
marked_processes_down() {
    local pid left=1
    for pid in $(marked_pids); do
        kill -KILL "$pid" 2>/dev/null || true
        # Zombies are ignored, because only their parent can reap them.
        if process_start_time "$pid" >/dev/null; then left=0; fi
    done
    [ "$left" = 1 ]
}

# shim_sockets_down: removes the sockets of killed shims, which listen in a directory whose path is not configurable.
shim_sockets_down() {
    local file address
    for file in "$SITE"/nodes/*/containerd/state/io.containerd.runtime.v2.task/k8s.io/*/address; do
        [ -e "$file" ] || continue
        address=$(<"$file")
        rm -f "${address#unix://}"
    done
    # A restarted containerd does not know its predecessor's shims; their sockets are those that refuse connections.
    for file in /run/containerd/s/*; do
        if [ -S "$file" ] && ! socat -u OPEN:/dev/null "UNIX-CONNECT:$file" 2>/dev/null; then rm -f "$file"; fi
    done
    rmdir /run/containerd/fifo /run/containerd/runc/k8s.io /run/containerd/runc /run/containerd/s /run/containerd \
        2>/dev/null || true
}

site_mounts() {
    findmnt -rno TARGET | awk -v dir="$SITE/" 'index($0, dir) == 1' | sort -r
}

mounts_down() {
    local target
    # findmnt escapes spaces in a target as \x20.
    for target in $(site_mounts); do umount "$(printf '%b' "$target")" 2>/dev/null || true; done
    [ -z "$(site_mounts)" ]
}

# networks_down: deletes the namespaces, and with them their links, routes and rules.
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
    # `ip netns add` mounts this directory, and creates and mounts it again if it is missing.
    if rmdir /run/netns 2>/dev/null; then return 0; fi
    if [ -z "$(ls -A /run/netns 2>/dev/null)" ] && mountpoint -q /run/netns; then
        umount /run/netns && rmdir /run/netns
    fi
}

# site_cgroups: prints the directories of the nodes' cgroups, deepest first.
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

# stray_files_down: removes the files that programs write to fixed paths.
stray_files_down() {
    [ "$SITE_NETNS" = "$CONTROL_NETNS" ] || return 0
    { grep -rlsF "$SITE/" /var/lib/cni/results || true; } | xargs -r rm -f
    rmdir /var/lib/cni/results /var/lib/cni 2>/dev/null || true
    if [ -e "$KUBELET_DIR/.fabricbench-testbed" ]; then rm -rf --one-file-system "$KUBELET_DIR"; fi
}
