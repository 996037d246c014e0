# shellcheck shell=bash
# Starts, checks and stops long-running processes. A process record contains the PID and the start
# time, so that a process that reuses the PID is neither mistaken for the recorded one nor killed.

# process_start_time PID: prints the start time in clock ticks since boot; fails if the process has exited or is a zombie.
process_start_time() {
    local stat fields
    stat=$(cat "/proc/$1/stat" 2>/dev/null) || return 1
    # The second field, the program's name in parentheses, may contain spaces, so parsing starts after it.
    read -r -a fields <<<"${stat##*) }"
    [ "${fields[0]}" != Z ] || return 1
    printf '%s' "${fields[19]}"
}

# process_pid NAME: prints the PID of a recorded process that is running.
process_pid() {
    local pid start
    read -r pid start 2>/dev/null <"$SITE/run/$1.pid" || return 1
    [ -n "$start" ] && [ "$(process_start_time "$pid")" = "$start" ] || return 1
    printf '%s' "$pid"
}

process_alive() { process_pid "$1" >/dev/null; }

# process_start NAME NETNS COMMAND...: starts a process unless it is running. NETNS "-" is the host network namespace.
process_start() {
    local name=$1 netns=$2 enter=() pid record=$SITE/run/$1.pid
    shift 2
    if process_alive "$name"; then return 0; fi
    if [ "$netns" != - ]; then
        # `ip netns exec` is not used, because it remounts /sys and hides the cgroup hierarchies.
        enter=(nsenter "--net=/run/netns/$netns" --)
    fi
    mkdir -p "$SITE/run" "$SITE/logs"
    (
        cd /
        # The process itself writes the record, so that the record exists even if this shell is killed.
        pid=$BASHPID
        printf '%s %s\n' "$pid" "$(process_start_time "$pid")" >"$record.part"
        mv "$record.part" "$record"
        # Descriptor 9 is the lock. A daemon that inherited it would hold the lock for its lifetime.
        exec env "$MARK=$SITE" setsid "${enter[@]}" "$@" </dev/null >>"$SITE/logs/$name.log" 2>&1 9>&-
    ) &
    pid=$!
    until [ "$(cut -d ' ' -f 1 "$record" 2>/dev/null)" = "$pid" ] || ! kill -0 "$pid" 2>/dev/null; do sleep 0.01; done
    disown "$pid"
}

# process_end NAME [SIGNAL]: ends the process, with SIGKILL after 10 s if necessary. The record is retained, so that
# `status` shows the process as ended.
process_end() {
    local name=$1 signal=${2:-TERM} pid
    pid=$(process_pid "$name") || return 0
    kill "-$signal" "$pid" 2>/dev/null || true
    if ! await 10 "$name to end" process_gone "$name"; then
        kill -KILL "$pid" 2>/dev/null || true
        await 10 "$name to end" process_gone "$name"
    fi
}

# process_stop NAME [SIGNAL]: ends the process and removes its record.
process_stop() {
    process_end "$@"
    rm -f "$SITE/run/$1.pid"
}

process_gone() { ! process_alive "$1"; }

# process_names [PREFIX]: prints the names of the recorded processes, running or not.
process_names() {
    local file
    for file in "$SITE/run/${1:-}"*.pid; do
        [ -e "$file" ] || continue
        basename "$file" .pid
    done
}

# marked_pids: prints the PIDs of all processes of this site, recorded or not.
marked_pids() {
    grep -lszxF "$MARK=$SITE" /proc/[0-9]*/environ 2>/dev/null | cut -d/ -f3 || true
}
