# shellcheck shell=bash
# Timed steps of a check. Sourced by .ci/test and .ci/test-cluster.

# shellcheck source=.ci/lib/exit.sh
. "$(dirname "${BASH_SOURCE[0]}")/exit.sh"

STEP_TIMES=()
# Process ID of the command in the background, if any.
BACKGROUND=

# step NAME COMMAND...: runs COMMAND between two headings, and records its duration. A failing step ends the script.
step() {
    local name=$1 started
    shift
    # A failure in the background ends the script before the next step.
    if [ "$BACKGROUND" ] && ! kill -0 "$BACKGROUND" 2>/dev/null; then finish_step; fi
    started=$SECONDS
    printf '\n== %s\n' "$name"
    "$@"
    STEP_TIMES+=("$(printf '%6d s  %s' $((SECONDS - started)) "$name")")
    printf '== %s: %d s\n' "$name" $((SECONDS - started))
}

# start_step NAME COMMAND...: starts COMMAND in the background with a low priority. It uses the CPU time that the next steps
# leave idle. Only one command can be in the background.
start_step() {
    BACKGROUND_NAME=$1 BACKGROUND_STARTED=$SECONDS BACKGROUND_OUTPUT=$(mktemp)
    shift
    # Ends the command if a step fails first.
    at_exit stop_background
    # A separate session, so that the processes that the command has started can be ended with it. Linux divides CPU time
    # between sessions by the priority of their autogroup, and ignores the priority of the processes.
    setsid sh -c 'echo 19 2>/dev/null >/proc/self/autogroup; exec nice -n 19 "$@"' sh "$@" >"$BACKGROUND_OUTPUT" 2>&1 &
    BACKGROUND=$!
}

stop_background() {
    kill -- "-$BACKGROUND" 2>/dev/null || true
    rm -f "$BACKGROUND_OUTPUT"
}

# finish_step: waits for the command in the background, if any, and prints and records it like a step.
finish_step() {
    local status=0 started=$SECONDS
    if [ ! "$BACKGROUND" ]; then return; fi
    wait "$BACKGROUND" || status=$?
    BACKGROUND=
    trap - EXIT
    printf '\n== %s\n' "$BACKGROUND_NAME"
    cat "$BACKGROUND_OUTPUT"
    rm "$BACKGROUND_OUTPUT"
    if [ "$status" -ne 0 ]; then exit "$status"; fi
    STEP_TIMES+=("$(printf '%6d s  %s (%d s in the background)' $((SECONDS - BACKGROUND_STARTED)) "$BACKGROUND_NAME" \
        $((started - BACKGROUND_STARTED)))")
    printf '== %s: waited for %d s\n' "$BACKGROUND_NAME" $((SECONDS - started))
}

# step_summary TARGET: prints the table of all steps so far.
step_summary() {
    printf '\n%s\n' "$1: all checks passed in $SECONDS s"
    printf '%s\n' "${STEP_TIMES[@]}"
}
