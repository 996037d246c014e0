# shellcheck shell=bash
# Images without a registry or docker: a Debian base by mmdebstrap, Dockerfiles by buildah, archives in the cache,
# loaded into each node's containerd. An image is built when its inputs changed, and loaded where its digest is missing.

PAUSE_IMAGE=fabricbench.dev/testbed/pause:1
COREDNS_IMAGE=fabricbench.dev/testbed/coredns:1
BASE_IMAGE=docker.io/library/debian:bookworm-slim

# bud ARGUMENT...: buildah with storage of its own, without a registry and without a daemon.
bud() {
    buildah --root "$CACHE/images/storage" --runroot "$CACHE/images/run" --storage-driver vfs "$@"
}

# digest_of_folder FOLDER: of names, modes and contents.
digest_of_folder() {
    (cd "$1" && find . -type f -printf '%P %m\n' | sort && find . -type f -print0 | sort -z | xargs -0r sha256sum) | sha256sum | cut -c1-16
}

# image_archive IMAGE DIGEST: where the archive of an image with these inputs lies.
image_archive() { printf '%s/images/%s-%s.tar' "$CACHE" "${1//[\/:]/_}" "$2"; }

# image_build IMAGE CONTEXT [BUILDAH ARGUMENT]...: prints the archive's path; builds it when the inputs have changed.
image_build() {
    local image=$1 context=$2 digest archive
    shift 2
    digest=$(printf '%s\n' "$(digest_of_folder "$context")" "$@" | sha256sum | cut -c1-16)
    archive=$(image_archive "$image" "$digest")
    if [ ! -e "$archive" ]; then
        say "building image $image"
        mkdir -p "$CACHE/images"
        rm -f "$CACHE/images/${image//[\/:]/_}-"*
        bud bud --isolation chroot --pull-never --quiet --timestamp 0 --tag "$image" "$@" "$context" >&2
        bud push --quiet "$image" "docker-archive:$archive.part:$image" >&2
        mv "$archive.part" "$archive"
    fi
    printf '%s\n' "$archive"
}

# base_up: the Debian image that Dockerfiles start from, where none is.
base_up() {
    if bud inspect --type image "$BASE_IMAGE" >/dev/null 2>&1; then return 0; fi
    local folder=$CACHE/images container
    say "building the base image $BASE_IMAGE"
    mkdir -p "$folder"
    mmdebstrap --quiet --variant=minbase --include=ca-certificates bookworm "$folder/base.tar.part" >&2
    container=$(bud from scratch)
    bud add --quiet "$container" "$folder/base.tar.part" / >/dev/null
    bud config --cmd /bin/bash --env PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin "$container"
    bud commit --quiet --rm "$container" "$BASE_IMAGE" >/dev/null
    rm -f "$folder/base.tar.part"
}

# image_load ARCHIVE: into every node that does not have just this archive yet.
image_load() {
    local archive=$1 node mark digest
    [ -e "$archive" ] || fail "no archive $archive"
    digest=$(sha256sum "$archive" | cut -c1-64)
    for node in $(node_names); do
        mark=$(node_folder "$node")/loaded/$digest
        [ ! -e "$mark" ] || continue
        node_ctr "$node" images import "$archive" >/dev/null
        mkdir -p "$(dirname "$mark")"
        : >"$mark"
    done
}

# pause_archive, coredns_archive: print the path of the archive of an image the cluster itself runs on.
pause_archive() { image_build "$PAUSE_IMAGE" "$(context_of pause)"; }

coredns_archive() { image_build "$COREDNS_IMAGE" "$(context_of coredns)"; }

# context_of NAME: prints a folder with the Dockerfile and the program that it copies.
context_of() {
    local folder=$CACHE/images/context/$1
    rm -rf "$folder"
    mkdir -p "$folder"
    cp "$HERE/images/$1/Dockerfile" "$folder/"
    case $1 in
        pause) gcc -static -Os -s -o "$folder/pause" "$HERE/images/pause/pause.c" ;;
        coredns) ln "$(tool coredns coredns)" "$folder/coredns" ;;
    esac
    printf '%s\n' "$folder"
}
