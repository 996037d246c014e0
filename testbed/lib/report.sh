# shellcheck shell=bash
# Functions that print messages, wait for conditions and render templates.

say() { printf 'testbed: %s\n' "$*" >&2; }

fail() {
    say "$*"
    exit 1
}

# await SECONDS CONDITION COMMAND...: waits until COMMAND succeeds. After SECONDS, prints that it timed out while
# waiting for CONDITION, and returns 1.
await() {
    local seconds=$1 condition=$2
    shift 2
    local deadline=$((SECONDS + seconds)) output
    until output=$("$@" 2>&1); do
        if [ "$SECONDS" -ge "$deadline" ]; then
            say "timed out after $seconds s waiting for $condition${output:+; last output: ${output:0:500}}"
            return 1
        fi
        # Each kubectl command takes about 0.1 s of CPU time.
        sleep 0.25
    done
}

# await_process PROCESS SECONDS CONDITION COMMAND...: like await, but fails as soon as PROCESS has exited, and prints the end
# of its log on failure.
await_process() {
    local process=$1 seconds=$2 condition=$3
    shift 3
    local deadline=$((SECONDS + seconds))
    until "$@" >/dev/null 2>&1; do
        if ! process_alive "$process"; then
            tail -n 15 "$SITE/logs/$process.log" >&2
            fail "$process exited while waiting for $condition (see testbed logs $process)"
        fi
        if [ "$SECONDS" -ge "$deadline" ]; then
            tail -n 15 "$SITE/logs/$process.log" >&2
            fail "timed out after $seconds s waiting for $condition (see testbed logs $process)"
        fi
        sleep 0.1
    done
}

# render FILE NAME=VALUE...: prints FILE with each @NAME@ replaced. A placeholder without a value is an error.
render() {
    local file=$1 text pair
    shift
    text=$(<"$file")
    for pair in "$@"; do
        text=${text//"@${pair%%=*}@"/${pair#*=}}
    done
    if [[ $text =~ @[A-Z_]+@ ]]; then fail "$file: no value for ${BASH_REMATCH[0]}"; fi
    printf '%s\n' "$text"
}

# render_to TARGET FILE NAME=VALUE...: renders FILE to TARGET, but writes TARGET only if its content changes, because
# some processes watch these files.
render_to() {
    local target=$1
    shift
    render "$@" >"$target.part"
    if cmp -s "$target.part" "$target"; then rm "$target.part"; else mv "$target.part" "$target"; fi
}
