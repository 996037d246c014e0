# shellcheck shell=bash
# `load`: builds images from their sources and loads them into the nodes.

# archive SOURCE...: builds the images and prints the paths of their archives. It needs neither root nor a cluster.
archive() {
    local source
    [ $# -gt 0 ] || fail "archive needs NAME[:TARGET] in images/, or a directory with a Dockerfile"
    programs_check image-archives "${IMAGE_PROGRAMS[@]}"
    for source in "$@"; do source_build "$source" ""; done
}

# load docker-archive FILE | SOURCE..., where SOURCE is NAME[:TARGET] or DIRECTORY[:TARGET]. With one SOURCE:
# [--context DIRECTORY] [--build-arg NAME=VALUE]...
load() {
    local context="" arguments=() sources=() archives=() source archive
    if [ "${1:-}" = docker-archive ]; then
        [ $# = 2 ] || fail "load docker-archive takes one FILE"
        archives_load "$(node_names)" "$2"
        return
    fi
    while [ $# -gt 0 ]; do
        case $1 in
            --context)
                context=${2:?--context takes a directory}
                shift
                ;;
            --build-arg)
                arguments+=(--build-arg "${2:?--build-arg takes NAME=VALUE}")
                shift
                ;;
            -*) fail "unknown option $1 (see testbed help)" ;;
            *) sources+=("$1") ;;
        esac
        shift
    done
    case ${#sources[@]} in
        0) fail "load needs NAME[:TARGET] in images/, a directory with a Dockerfile, or docker-archive FILE" ;;
        1) ;;
        *) [ -z "$context${arguments[*]}" ] || fail "--context and --build-arg apply to one image: load the images one by one" ;;
    esac
    for source in "${sources[@]}"; do
        archive=$(source_build "$source" "$context" "${arguments[@]}")
        archives+=("$archive")
    done
    archives_load "$(node_names)" "${archives[@]}"
    for source in "${sources[@]}"; do source_image "$source"; done
}

# source_image SOURCE: prints the name of the source's image.
source_image() {
    local target=dev
    if [[ $1 == *:* ]]; then target=${1#*:}; fi
    printf 'fabricbench.dev/%s:%s\n' "$(basename "${1%%:*}")" "$target"
}

# source_build SOURCE CONTEXT [BUILDAH ARGUMENT]...: builds the source's image if needed and prints the archive's path. An
# empty CONTEXT is the default one.
source_build() {
    local source=$1 context=$2 name=${1%%:*} dir defaults=()
    shift 2
    if [[ $name == */* ]]; then
        dir=$name context=${context:-$name}
    else
        dir=$HERE/../images/$name context=${context:-$HERE/..}
        defaults+=(--build-arg "VERSION=$(sed -n 's/^version = "\(.*\)"$/\1/p' "$HERE/../Cargo.toml")")
    fi
    if [[ $source == *:* ]]; then defaults+=(--target "${source#*:}"); fi
    image_build "$(source_image "$source")" "$dir/Dockerfile" "$context" "${defaults[@]}" "$@"
}
