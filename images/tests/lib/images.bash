# shellcheck shell=bash
# Inspects the archives of the project's images, and runs these images in the testbed.
# IMAGE is NAME or NAME:TARGET, the same as for `testbed load`.

TESTS=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
# shellcheck source=testbed/tests/lib/common.bash
. "$TESTS/../../testbed/tests/lib/common.bash"
# shellcheck source=.ci/lib/cluster.sh
. "$TESTS/../../.ci/lib/cluster.sh"

# image_name IMAGE: prints the full name of the image.
image_name() { if [[ $1 == *:* ]]; then printf 'fabricbench.dev/%s' "$1"; else printf 'fabricbench.dev/%s:dev' "$1"; fi; }

# image_archive IMAGE: prints the path of the image's archive in the cache.
image_archive() {
    local name
    name=$(image_name "$1")
    ls "$CACHE/images/${name//[\/:]/_}"-*.tar
}

# image_manifest IMAGE FILTER: applies a jq filter to the manifest.
image_manifest() { tar -xOf "$(image_archive "$1")" manifest.json | jq -r ".[0] | $2"; }

# image_config IMAGE FILTER: applies a jq filter to the configuration.
image_config() { tar -xOf "$(image_archive "$1")" "$(image_manifest "$1" .Config)" | jq -r "$2"; }

# image_files IMAGE: prints the sorted paths of all files.
image_files() {
    local layer
    for layer in $(image_manifest "$1" '.Layers[]'); do
        tar -xOf "$(image_archive "$1")" "$layer" | tar -t
    done | grep -v '/$' | sort
}

# image_file IMAGE PATH: prints the file's content.
image_file() {
    local layer
    for layer in $(image_manifest "$1" '.Layers[]'); do
        if tar -xOf "$(image_archive "$1")" "$layer" | tar -xO "$2" 2>/dev/null; then return 0; fi
    done
    echo "$1 has no $2" >&2
    return 1
}

# image_mebibytes IMAGE: prints the uncompressed size of all layers in MiB.
image_mebibytes() {
    local layer
    for layer in $(image_manifest "$1" '.Layers[]'); do
        tar -xOf "$(image_archive "$1")" "$layer" | wc -c
    done | awk '{bytes += $1} END {printf "%.0f\n", bytes / 1048576}'
}

# pod_output IMAGE COMMAND...: runs the command in a restricted pod with a read-only root file system and prints its output.
pod_output() {
    local name=command-$BATS_TEST_NUMBER-$RANDOM image=$1
    shift
    render "$TESTS/manifests/command.yaml" "NAME=$name" "IMAGE=$(image_name "$image")" \
        "COMMAND=$(printf '%s\n' "$@" | jq -R . | jq -cs .)" | kubectl -n images apply -f - >/dev/null
    if ! await "$TIMEOUT" "pod $name to end" pod_ended images "$name" || ! pod_phase_is Succeeded images "$name"; then
        kubectl -n images describe pod "$name" >&2
        kubectl -n images logs "$name" >&2
        return 1
    fi
    kubectl -n images logs "$name"
}

pod_ended() { pod_phase_is Succeeded "$@" || pod_phase_is Failed "$@"; }

# pod_phase_is PHASE NAMESPACE POD: whether the pod is in this phase.
pod_phase_is() { [ "$(kubectl -n "$2" get pod "$3" -o 'jsonpath={.status.phase}')" = "$1" ]; }

# leg_start IMAGE: starts the two workers of a leg with the image.
leg_start() { render "$TESTS/manifests/leg.yaml" "IMAGE=$(image_name "$1")" DIGEST=sha256:0123 | kubectl -n images apply -f -; }

# records: prints the record stream of the last leg, from worker 0.
records() { kubectl -n images logs -l batch.kubernetes.io/job-completion-index=0 --tail=-1; }
