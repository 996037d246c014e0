# shellcheck shell=bash
# What the user reads, and waiting for conditions.

say() { printf 'testbed: %s\n' "$*" >&2; }

fail() {
    say "$*"
    exit 1
}

# await SECONDS WHAT COMMAND...: until COMMAND succeeds; after SECONDS says what did not come, and returns 1.
await() {
    local seconds=$1 what=$2
    shift 2
    local deadline=$((SECONDS + seconds)) said
    until said=$("$@" 2>&1); do
        if [ "$SECONDS" -ge "$deadline" ]; then
            say "$what: not within $seconds s${said:+; last: ${said:0:500}}"
            return 1
        fi
        sleep 0.1
    done
}

# await_process PROCESS SECONDS WHAT COMMAND...: as await, but fails as soon as PROCESS has ended; shows its last words.
await_process() {
    local process=$1 seconds=$2 what=$3
    shift 3
    local deadline=$((SECONDS + seconds))
    until "$@" >/dev/null 2>&1; do
        if ! process_alive "$process"; then
            tail -n 15 "$SITE/logs/$process.log" >&2
            fail "$what: $process has ended (its log: testbed logs $process)"
        fi
        if [ "$SECONDS" -ge "$deadline" ]; then
            tail -n 15 "$SITE/logs/$process.log" >&2
            fail "$what: not within $seconds s (testbed logs $process)"
        fi
        sleep 0.1
    done
}

# render FILE NAME=VALUE...: FILE's text with each @NAME@ replaced; a placeholder left over is an error.
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

# render_to TARGET FILE NAME=VALUE...: writes only what changed; programs watch some of these files.
render_to() {
    local target=$1
    shift
    render "$@" >"$target.part"
    if cmp -s "$target.part" "$target"; then rm "$target.part"; else mv "$target.part" "$target"; fi
}
