# shellcheck shell=bash
# Timed steps of a check. Sourced by .ci/test and .ci/test-cluster.

STEP_TIMES=()

# step NAME COMMAND...: runs COMMAND between two headings, and records its duration. A failing step ends the script.
step() {
    local name=$1 started=$SECONDS
    shift
    printf '\n== %s\n' "$name"
    "$@"
    STEP_TIMES+=("$(printf '%6d s  %s' $((SECONDS - started)) "$name")")
    printf '== %s: %d s\n' "$name" $((SECONDS - started))
}

# step_summary TARGET: prints the table of all steps so far.
step_summary() {
    printf '\n%s\n' "$1: all checks passed in $SECONDS s"
    printf '%s\n' "${STEP_TIMES[@]}"
}
