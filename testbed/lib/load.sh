# shellcheck shell=bash
# `load`: images into the nodes. What a node has is recorded in its own folder, so a second load does nothing.

# load docker-archive FILE | NAME[:TARGET] | FOLDER[:TARGET], with [--context FOLDER] [--build-arg NAME=VALUE]...
load() {
    local what=${1:-} name target="" folder context arguments=() image archive
    [ -n "$what" ] || fail "load what? NAME[:TARGET] of images/, a folder with a Dockerfile, or docker-archive FILE"
    shift
    if [ "$what" = docker-archive ]; then
        image_load "${1:?load docker-archive FILE}"
        return
    fi
    name=${what%%:*}
    if [[ $what == *:* ]]; then target=${what#*:}; fi
    if [[ $name == */* ]]; then
        folder=$name context=$name
    else
        folder=$HERE/../images/$name context=$HERE/..
        arguments+=(--build-arg "VERSION=$(sed -n 's/^version = "\(.*\)"$/\1/p' "$HERE/../Cargo.toml")")
    fi
    image=fabricbench.dev/$(basename "$name"):${target:-dev}
    [ -z "$target" ] || arguments+=(--target "$target")
    while [ $# -gt 0 ]; do
        case $1 in
            --context) context=${2:?--context takes a folder} ;;
            --build-arg) arguments+=(--build-arg "${2:?--build-arg takes NAME=VALUE}") ;;
            *) fail "unknown option $1 (testbed help)" ;;
        esac
        shift 2
    done
    archive=$(image_build "$image" "$folder/Dockerfile" "$context" "${arguments[@]}")
    image_load "$archive"
    printf '%s\n' "$image"
}

# image_load ARCHIVE: into every node that does not have it.
image_load() {
    local node
    [ -e "$1" ] || fail "no archive $1"
    for node in $(node_names); do image_load_into "$node" "$1"; done
}

# image_load_into NODE ARCHIVE: what was loaded last under each name is written down, with its digest.
image_load_into() {
    local node=$1 archive mark loaded
    archive=$(realpath -- "$2")
    mark=$(node_folder "$node")/loaded/$(image_tags "$archive" | head -n 1 | tr '/:' '__')
    loaded="$(sha256sum <"$archive" | cut -c1-64) $archive"
    if [ "$(cat "$mark" 2>/dev/null)" = "$loaded" ] && image_is_there "$node" "$archive"; then return 0; fi
    node_ctr "$node" images import "$archive" >/dev/null || fail "$node did not take $archive"
    mkdir -p "$(dirname "$mark")"
    printf '%s\n' "$loaded" >"$mark"
}

# image_tags ARCHIVE: the names in it.
image_tags() { tar -xOf "$1" manifest.json | jq -r '.[].RepoTags[]'; }

# image_is_there NODE ARCHIVE: whether all names in the archive are still there. A kubelet that runs out of disk removes
# what no container uses.
image_is_there() {
    local there
    there=$(node_ctr "$1" images list --quiet)
    [ -z "$(comm -23 <(image_tags "$2" | sort) <(sort <<<"$there"))" ]
}

# images_restore NODE: loads again what the node had and has lost.
images_restore() {
    local mark archive
    for mark in "$(node_folder "$1")"/loaded/*; do
        [ -e "$mark" ] || continue
        read -r _ archive <"$mark"
        # An image that was built anew has replaced this archive.
        if [ -e "$archive" ]; then image_load_into "$1" "$archive"; fi
    done
}
