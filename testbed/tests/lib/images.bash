# shellcheck shell=bash
# The product's images: what their archives hold, and what they print when run. An image is named as
# `load` is told: NAME or NAME:TARGET. And the tests' own.

# product_images: all that need no base of the user's.
product_images() { printf '%s\n' operator runner:{baseline,fi-inject,doorbell,coalesce,combined,runner}; }

# image_name IMAGE: as it is tagged.
image_name() { if [[ $1 == *:* ]]; then printf 'fabricbench.dev/%s' "$1"; else printf 'fabricbench.dev/%s:dev' "$1"; fi; }

# probe_load: builds the tests' own image when its source changed, and loads it into each node.
probe_load() {
    local context=$CACHE/images/context/probe
    mkdir -p "$context"
    (cd "$HERE/tests/probe" && CGO_ENABLED=0 go build -trimpath -buildvcs=false -ldflags '-s -w' -o "$context/probe" .)
    cp "$HERE/tests/probe/Dockerfile" "$context/"
    "$TESTBED" load "$context"
}

# image_archive IMAGE: its file in the cache; there is one.
image_archive() {
    local name
    name=$(image_name "$1")
    ls "$CACHE/images/${name//[\/:]/_}"-*.tar
}

# image_manifest IMAGE FILTER: of jq.
image_manifest() { tar -xOf "$(image_archive "$1")" manifest.json | jq -r ".[0] | $2"; }

# image_config IMAGE FILTER
image_config() { tar -xOf "$(image_archive "$1")" "$(image_manifest "$1" .Config)" | jq -r "$2"; }

# image_files IMAGE: the paths of all files, sorted.
image_files() {
    local layer
    for layer in $(image_manifest "$1" '.Layers[]'); do
        tar -xOf "$(image_archive "$1")" "$layer" | tar -t
    done | grep -v '/$' | sort
}

# image_file IMAGE PATH: what the file holds.
image_file() {
    local layer
    for layer in $(image_manifest "$1" '.Layers[]'); do
        if tar -xOf "$(image_archive "$1")" "$layer" | tar -xO "$2" 2>/dev/null; then return 0; fi
    done
    echo "$1 has no $2" >&2
    return 1
}

# image_mebibytes IMAGE: of all layers, as they are unpacked.
image_mebibytes() {
    local layer
    for layer in $(image_manifest "$1" '.Layers[]'); do
        tar -xOf "$(image_archive "$1")" "$layer" | wc -c
    done | awk '{bytes += $1} END {printf "%.0f\n", bytes / 1048576}'
}

# once IMAGE COMMAND...: what it prints, run to its end as a restricted pod with a root that cannot be written.
once() {
    local name=once-$BATS_TEST_NUMBER-$RANDOM image=$1
    shift
    render "$HERE/tests/manifests/once.yaml" "NAME=$name" "IMAGE=$(image_name "$image")" \
        "COMMAND=$(printf '%s\n' "$@" | jq -R . | jq -cs .)" | kubectl -n images apply -f - >/dev/null
    if ! await "$PATIENCE" "the end of $image" pod_ended images "$name" || ! pod_phase_is Succeeded images "$name"; then
        kubectl -n images describe pod "$name" >&2
        kubectl -n images logs "$name" >&2
        return 1
    fi
    kubectl -n images logs "$name"
}

pod_ended() { pod_phase_is Succeeded "$@" || pod_phase_is Failed "$@"; }

# pod_phase_is PHASE NAMESPACE POD
pod_phase_is() { [ "$(kubectl -n "$2" get pod "$3" -o 'jsonpath={.status.phase}')" = "$1" ]; }

# records: the stream of the last leg, from its worker 0.
records() { kubectl -n images logs -l batch.kubernetes.io/job-completion-index=0 --tail=-1; }
