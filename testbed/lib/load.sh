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

# image_load ARCHIVE: into every node that does not have it yet.
image_load() {
    local archive=$1 node mark digest
    [ -e "$archive" ] || fail "no archive $archive"
    digest=$(sha256sum "$archive" | cut -c1-64)
    for node in $(node_names); do
        mark=$(node_folder "$node")/loaded/$digest
        [ ! -e "$mark" ] || continue
        node_ctr "$node" images import "$archive" >/dev/null || fail "$node did not take $archive"
        mkdir -p "$(dirname "$mark")"
        : >"$mark"
    done
}
