# shellcheck shell=bash
# Builds images without a registry or Docker: Debian base images with mmdebstrap, Dockerfiles with
# buildah. Archives are stored in the cache. An archive's name contains a digest of all its inputs, so that an image is
# built only if an input has changed.

PAUSE_IMAGE=fabricbench.dev/testbed/pause:1
COREDNS_IMAGE=fabricbench.dev/testbed/coredns:1
# Base images that a Dockerfile may use: Debian, with any suite on the mirror.
BASE_IMAGES='docker\.io/library/debian:[a-z]+-slim'

# bud ARGUMENT...: runs buildah with the storage selected by storage_up.
bud() { buildah "${STORAGE[@]}" "$@"; }

# storage_up: selects the overlay driver, or vfs (full copies of every layer) if the cache's file system, such as
# a container's root file system, does not support overlays.
storage_up() {
    local dir=$CACHE/images
    mkdir -p "$dir"
    # Without skip_mount_home, a killed build leaves a mount behind.
    STORAGE=(--root "$dir/storage-overlay" --runroot "$dir/run-overlay" --storage-driver overlay
        --storage-opt skip_mount_home=true)
    if bud info >/dev/null 2>&1; then return 0; fi
    STORAGE=(--root "$dir/storage-vfs" --runroot "$dir/run-vfs" --storage-driver vfs)
}

# image_build IMAGE DOCKERFILE CONTEXT [BUILDAH ARGUMENT]...: builds the image if needed and prints the archive's path.
image_build() {
    local image=$1 dockerfile=$2 context=$3 digest archive old base image_lock stem=$CACHE/images/${1//[\/:]/_}
    shift 3
    required_arguments_check "$dockerfile" "$@"
    digest=$(image_inputs "$dockerfile" "$context") || fail "failed to build $image"
    digest=$(printf '%s\n' "$digest" "$@" "$(base_archives "$@")" | sha256sum | cut -c1-16)
    archive=$stem-$digest.tar
    # Another command may be building the same image.
    mkdir -p "$CACHE/images"
    exec {image_lock}>"$CACHE/images/lock"
    flock "$image_lock"
    if [ ! -e "$archive" ]; then
        say "building image $image"
        storage_up
        for base in $(base_images "$dockerfile" "$@"); do base_build "$base"; done
        bases_up "$@"
        # buildah does not write to the rest of an interrupted push.
        rm -f "$archive.part"
        # The fixed timestamp makes builds reproducible.
        bud bud --isolation chroot --pull-never --layers --quiet --timestamp 0 --file "$dockerfile" --tag "$image" \
            "$@" "$context" >/dev/null
        bud push --quiet "$image" "docker-archive:$archive.part:$image" >&2
        mv "$archive.part" "$archive"
        for old in "$stem"-????????????????.tar; do
            if [ "$old" != "$archive" ]; then rm -f "$old"; fi
        done
        # Tagged images are retained so that later builds, of other targets or after file changes, can reuse their
        # layers. For a multi-stage Dockerfile, buildah leaves working containers behind, which would prevent older
        # images from being pruned.
        bud rm --all >/dev/null
        bud rmi --prune >/dev/null
    fi
    exec {image_lock}>&-
    printf '%s\n' "$archive"
}

# required_arguments_check DOCKERFILE [BUILDAH ARGUMENT]...: fails if an argument for the base image has neither a
# default nor a value.
required_arguments_check() {
    local dockerfile=$1 name names
    [ -e "$dockerfile" ] || fail "$dockerfile does not exist: load takes a NAME in images/, or a directory (with a slash) that contains a Dockerfile"
    shift
    names=$(awk 'toupper($1) == "FROM" {exit} toupper($1) == "ARG" && $2 !~ /=/ {print $2}' "$dockerfile")
    for name in $names; do
        [[ " $* " == *" --build-arg $name="?* ]] || fail "$dockerfile has no default for $name: pass --build-arg $name=VALUE"
    done
}

# base_archives [BUILDAH ARGUMENT]...: prints the archives of the fabricbench.dev images in the arguments.
base_archives() {
    local argument image archive
    for argument in "$@"; do
        image=${argument#*=}
        [[ $image == fabricbench.dev/* ]] || continue
        for archive in "$CACHE/images/${image//[\/:]/_}"-????????????????.tar; do
            if [ -e "$archive" ]; then printf '%s\n' "$archive"; fi
        done
    done
}

# image_tags ARCHIVE: prints the image names in the archive.
image_tags() { tar -xOf "$1" manifest.json | jq -r '.[].RepoTags[]'; }

# bases_up [BUILDAH ARGUMENT]...: imports the archives that base_archives prints, except those whose images are already
# in buildah's storage.
bases_up() {
    local archive
    for archive in $(base_archives "$@"); do
        if bud inspect --type image "$(image_tags "$archive")" >/dev/null 2>&1; then continue; fi
        bud pull --quiet "docker-archive:$archive" >/dev/null
    done
}

# image_inputs DOCKERFILE CONTEXT: prints digests of the Dockerfile and of each file that it copies from the context.
image_inputs() {
    local dockerfile=$1 context=$2 source sources
    sha256sum <"$dockerfile"
    sources=$(copied_files "$dockerfile")
    for source in $sources; do
        if [[ $source == *[\$\[\"\\]* ]]; then
            fail "$dockerfile: COPY $source is not supported: use plain names on one line"
        fi
        # $source is not quoted, because COPY accepts patterns.
        # shellcheck disable=SC2086
        (cd "$context" && find $source -type f -printf '%p %m ' -exec sha256sum {} \; | sort) ||
            fail "$dockerfile copies $source, which is not in $context (has it been built? see make help)"
    done
}

# copied_files DOCKERFILE: prints the sources of COPY and ADD that come from the context.
copied_files() {
    awk 'toupper($1) == "COPY" || toupper($1) == "ADD" {
        if ($0 ~ /--from=/) next
        for (i = 2; i < NF; i++) if ($i !~ /^--/) print $i
        if ($NF == "\\") print $NF
    }' "$1"
}

# base_images DOCKERFILE [BUILDAH ARGUMENT]...: prints the Debian images that the Dockerfile or the arguments contain.
base_images() {
    { cat "$1" && printf '%s\n' "${@:2}"; } | { grep -oE "$BASE_IMAGES" || true; } | sort -u
}

# base_build IMAGE: builds a Debian base image unless it exists.
base_build() {
    if bud inspect --type image "$1" >/dev/null 2>&1; then return 0; fi
    local dir=$CACHE/images suite=${1##*:} container
    say "building the base image $1"
    mkdir -p "$dir"
    # mmdebstrap passes file descriptors to dash, which supports only those below 10. The caller's descriptors are
    # closed, so that enough low-numbered ones are available.
    mmdebstrap --quiet --variant=minbase --include=ca-certificates \
        --dpkgopt='path-exclude=/usr/share/man/*' --dpkgopt='path-exclude=/usr/share/locale/*' \
        --dpkgopt='path-exclude=/usr/share/doc/*' --dpkgopt='path-include=/usr/share/doc/*/copyright' \
        "${suite%-slim}" "$dir/base.tar" >&2 3>&- 4>&- 5>&- 6>&- 7>&- 8>&- 9>&-
    container=$(bud from scratch)
    bud add --quiet "$container" "$dir/base.tar" / >/dev/null
    bud config --cmd /bin/bash --env PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin "$container"
    bud commit --quiet --rm "$container" "$1" >/dev/null
    rm -f "$dir/base.tar"
}

# pause_archive, coredns_archive: build the images that the cluster itself needs and print the archives' paths.
pause_archive() {
    local context=$CACHE/images/context/pause
    mkdir -p "$context"
    gcc -static -Os -s -o "$context/pause" "$HERE/images/pause/pause.c"
    image_build "$PAUSE_IMAGE" "$HERE/images/pause/Dockerfile" "$context"
}

coredns_archive() { image_build "$COREDNS_IMAGE" "$HERE/images/coredns/Dockerfile" "$(tool_dir coredns)"; }
