# shellcheck shell=bash
# Commands that run when a script ends. Sourced by other files in this directory.

# at_exit COMMAND: runs COMMAND when the script ends. Fails if another command is set, because it would not run.
at_exit() {
    if [ "$(trap -p EXIT)" ]; then
        printf '"%s" cannot be run at exit, because another command is set\n' "$1" >&2
        exit 1
    fi
    # shellcheck disable=SC2064  # the command is quoted by the caller
    trap "$1" EXIT
}
