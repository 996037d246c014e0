# shellcheck shell=bash
# The `status` and `logs` commands.

# status: prints a table of the processes and a table of the nodes. Fails if a process is not running or a node is not Ready.
status() {
    local name pid failed=0
    if [ ! -e "$SITE" ]; then
        say "not up: run testbed ${SITE_COMMAND}up"
        return 1
    fi
    [ ! -e "$SITE/going-down" ] || say "a \`${SITE_COMMAND}down\` was interrupted: \`${SITE_COMMAND}up\` or \`${SITE_COMMAND}down\` completes it"
    for name in $( { expected_processes; process_names; } | sort -u); do
        if [ ! -e "$SITE/run/$name.pid" ]; then
            printf '%-26s not started (run %sup)\n' "$name" "testbed $SITE_COMMAND"
            failed=1
        elif pid=$(process_pid "$name"); then
            printf '%-26s running   %7d MiB  pid %s\n' "$name" "$(resident_mebibytes "$pid")" "$pid"
        else
            printf '%-26s ended     %s\n' "$name" "$(tail -n 1 "$SITE/logs/$name.log" | cut -c1-200)"
            failed=1
        fi
    done
    if process_alive kube-apiserver && [ -e "$SITE/node-count" ]; then
        kubectl get nodes -o custom-columns="$(status_columns)" || failed=1
        for name in $(node_names); do node_condition "$name" Ready True || failed=1; done
    fi
    return "$failed"
}

# expected_processes: prints the names of all processes that the site should run.
expected_processes() {
    local node part
    printf '%s\n' etcd kube-apiserver forward-api forward-host
    [ "$SITE_NETNS" = "$CONTROL_NETNS" ] || return 0
    printf '%s\n' kube-controller-manager kube-scheduler
    for node in $(node_names); do
        for part in containerd kubelet kube-proxy multicast policy; do echo "$part-$node"; done
    done
}

status_columns() {
    local columns='NODE:.metadata.name,READY:.status.conditions[?(@.type=="Ready")].status'
    columns+=',EFA:.status.allocatable.vpc\.amazonaws\.com/efa,GPU:.status.allocatable.nvidia\.com/gpu'
    columns+=',HUGE PAGES:.status.allocatable.hugepages-2Mi,TYPE:.metadata.labels.node\.kubernetes\.io/instance-type'
    printf '%s' "$columns"
}

resident_mebibytes() {
    awk '/^VmRSS:/ {kib = $2} END {print int(kib / 1024)}' "/proc/$1/status" 2>/dev/null || echo 0
}

# logs [COMPONENT [TAIL ARGUMENT]...]: prints the log of the component, or lists the components.
logs() {
    local name=${1:-}
    if [ -z "$name" ]; then
        process_names
        return
    fi
    if [ ! -e "$SITE/logs/$name.log" ]; then
        fail "unknown component '$name' (components: $(cd "$SITE/logs" 2>/dev/null && printf '%s ' *.log | sed 's/\.log//g'))"
    fi
    shift
    if [ $# -eq 0 ]; then set -- -n +1; fi
    tail "$@" "$SITE/logs/$name.log"
}
