# shellcheck shell=bash
# `load`: loads images into the nodes. Each node's directory contains a record of the loaded images, so that loading the
# same image again has no effect.

# load docker-archive FILE | NAME[:TARGET] | DIRECTORY[:TARGET], with [--context DIRECTORY] [--build-arg NAME=VALUE]...
load() {
    local source=${1:-} name target="" dir context arguments=() image archive
    [ -n "$source" ] || fail "load needs NAME[:TARGET] in images/, a directory with a Dockerfile, or docker-archive FILE"
    shift
    if [ "$source" = docker-archive ]; then
        image_load "${1:?load docker-archive FILE}"
        return
    fi
    name=${source%%:*}
    if [[ $source == *:* ]]; then target=${source#*:}; fi
    if [[ $name == */* ]]; then
        dir=$name context=$name
    else
        dir=$HERE/../images/$name context=$HERE/..
        arguments+=(--build-arg "VERSION=$(sed -n 's/^version = "\(.*\)"$/\1/p' "$HERE/../Cargo.toml")")
    fi
    image=fabricbench.dev/$(basename "$name"):${target:-dev}
    [ -z "$target" ] || arguments+=(--target "$target")
    while [ $# -gt 0 ]; do
        case $1 in
            --context) context=${2:?--context takes a directory} ;;
            --build-arg) arguments+=(--build-arg "${2:?--build-arg takes NAME=VALUE}") ;;
            *) fail "unknown option $1 (see testbed help)" ;;
        esac
        shift 2
    done
    archive=$(image_build "$image" "$dir/Dockerfile" "$context" "${arguments[@]}")
    image_load "$archive"
    printf '%s\n' "$image"
}

# image_load ARCHIVE: loads the archive concurrently into all nodes that do not have it yet.
image_load() {
    local node digest load loads=() failed=""
    [ -e "$1" ] || fail "archive $1 does not exist"
    digest=$(image_digest "$1")
    for node in $(node_names); do
        image_load_into "$node" "$1" "$digest" &
        loads+=($!)
    done
    for load in "${loads[@]}"; do wait "$load" || failed=1; done
    # image_load_into has already printed the error messages.
    [ -z "$failed" ] || exit 1
}

image_digest() { sha256sum <"$1" | cut -c1-64; }

# image_load_into NODE ARCHIVE DIGEST: loads the archive unless the node has it, and records it with its digest under the
# image name.
image_load_into() {
    local node=$1 digest=$3 archive mark loaded
    archive=$(realpath -- "$2")
    mark=$(node_dir "$node")/loaded/$(image_tags "$archive" | head -n 1 | tr '/:' '__')
    loaded="$digest $archive"
    if [ "$(cat "$mark" 2>/dev/null)" = "$loaded" ] && image_present "$node" "$archive"; then return 0; fi
    node_ctr "$node" images import "$archive" >/dev/null || fail "failed to load $archive into $node"
    mkdir -p "$(dirname "$mark")"
    printf '%s\n' "$loaded" >"$mark"
}

# image_tags ARCHIVE: prints the image names in the archive.
image_tags() { tar -xOf "$1" manifest.json | jq -r '.[].RepoTags[]'; }

# image_present NODE ARCHIVE: whether the node still has all images of the archive. A kubelet under disk pressure removes
# images that no container uses.
image_present() {
    local present
    present=$(node_ctr "$1" images list --quiet)
    [ -z "$(comm -23 <(image_tags "$2" | sort) <(sort <<<"$present"))" ]
}

# images_restore NODE: reloads the images that the node has lost.
images_restore() {
    local mark archive
    for mark in "$(node_dir "$1")"/loaded/*; do
        [ -e "$mark" ] || continue
        read -r _ archive <"$mark"
        # The archive no longer exists if the image was rebuilt in the meantime.
        if [ -e "$archive" ]; then image_load_into "$1" "$archive" "$(image_digest "$archive")"; fi
    done
}
