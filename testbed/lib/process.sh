# shellcheck shell=bash
# Long-running processes: start, look, stop. A record is "pid start-time", so that a pid that the kernel gave to
# another program since is neither taken for ours nor killed.

# process_start_time PID: clock ticks since boot; fails when PID is gone or a zombie.
process_start_time() {
    local stat fields
    stat=$(cat "/proc/$1/stat" 2>/dev/null) || return 1
    # The second field, the program's name, may hold blanks: read after its closing bracket.
    read -r -a fields <<<"${stat##*) }"
    [ "${fields[0]}" != Z ] || return 1
    printf '%s' "${fields[19]}"
}

# process_pid NAME: the pid of a live recorded process.
process_pid() {
    local pid start
    read -r pid start 2>/dev/null <"$SITE/run/$1.pid" || return 1
    [ -n "$start" ] && [ "$(process_start_time "$pid")" = "$start" ] || return 1
    printf '%s' "$pid"
}

process_alive() { process_pid "$1" >/dev/null; }

# process_start NAME NETNS COMMAND...: unless it runs already. NETNS "-" is the machine's own.
process_start() {
    local name=$1 netns=$2 enter=() pid record=$SITE/run/$1.pid
    shift 2
    if process_alive "$name"; then return 0; fi
    if [ "$netns" != - ]; then
        # Not `ip netns exec`: that remounts /sys and hides the cgroup hierarchies.
        enter=(nsenter "--net=/run/netns/$netns" --)
    fi
    mkdir -p "$SITE/run" "$SITE/logs"
    (
        cd /
        # Written by the process itself, so that none is ever without a record, whenever this shell is killed.
        pid=$BASHPID
        printf '%s %s\n' "$pid" "$(process_start_time "$pid")" >"$record.part"
        mv "$record.part" "$record"
        # 9 is the lock: a daemon that inherited it would hold it for ever.
        exec env "$MARK=$SITE" setsid "${enter[@]}" "$@" </dev/null >>"$SITE/logs/$name.log" 2>&1 9>&-
    ) &
    pid=$!
    until [ "$(cut -d ' ' -f 1 "$record" 2>/dev/null)" = "$pid" ] || ! kill -0 "$pid" 2>/dev/null; do sleep 0.01; done
    disown "$pid"
}

# process_end NAME [SIGNAL]: until it has ended; after 10 s by SIGKILL. The record stays: `status` shows what should run.
process_end() {
    local name=$1 signal=${2:-TERM} pid
    pid=$(process_pid "$name") || return 0
    kill "-$signal" "$pid" 2>/dev/null || true
    if ! await 10 "$name to end" process_gone "$name"; then
        kill -KILL "$pid" 2>/dev/null || true
        await 10 "$name to end" process_gone "$name"
    fi
}

# process_stop NAME [SIGNAL]: ends it, and forgets it.
process_stop() {
    process_end "$@"
    rm -f "$SITE/run/$1.pid"
}

process_gone() { ! process_alive "$1"; }

# process_names [PREFIX]: the recorded processes, live or not.
process_names() {
    local file
    for file in "$SITE/run/${1:-}"*.pid; do
        [ -e "$file" ] || continue
        basename "$file" .pid
    done
}

# members: the pids of every process of this site, whether recorded or not.
members() {
    grep -lszxF "$MARK=$SITE" /proc/[0-9]*/environ 2>/dev/null | cut -d/ -f3 || true
}
