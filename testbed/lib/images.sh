# shellcheck shell=bash
# Builds images without a registry or docker: a Debian base by mmdebstrap, ordinary Dockerfiles by buildah, archives in
# the cache. An archive is named by a digest of all that goes into it, so that only what changed is built.

PAUSE_IMAGE=fabricbench.dev/testbed/pause:1
COREDNS_IMAGE=fabricbench.dev/testbed/coredns:1
# What a Dockerfile may start from, of any suite that the mirror has.
BASE_IMAGES='docker\.io/library/debian:[a-z]+-slim'

# bud ARGUMENT...: buildah with storage of its own, once storage_up has chosen it.
bud() { buildah "${STORAGE[@]}" "$@"; }

# storage_up: overlays, or whole copies of every layer where the cache's file system holds no overlays (a container's root).
storage_up() {
    local folder=$CACHE/images
    mkdir -p "$folder"
    # Without the option a build that was killed leaves a mount.
    STORAGE=(--root "$folder/storage-overlay" --runroot "$folder/run-overlay" --storage-driver overlay
        --storage-opt skip_mount_home=true)
    if bud info >/dev/null 2>&1; then return 0; fi
    STORAGE=(--root "$folder/storage-vfs" --runroot "$folder/run-vfs" --storage-driver vfs)
}

# image_build IMAGE DOCKERFILE CONTEXT [BUILDAH ARGUMENT]...: prints the archive's path.
image_build() {
    local image=$1 dockerfile=$2 context=$3 digest archive old base stem=$CACHE/images/${1//[\/:]/_}
    shift 3
    image_arguments_given "$dockerfile" "$@"
    digest=$(image_inputs "$dockerfile" "$context") || fail "$image is not built"
    digest=$(printf '%s\n' "$digest" "$@" "$(base_archives "$@")" | sha256sum | cut -c1-16)
    archive=$stem-$digest.tar
    if [ ! -e "$archive" ]; then
        say "building image $image"
        storage_up
        for base in $(base_images "$dockerfile" "$@"); do base_build "$base"; done
        bases_up "$@"
        # The timestamp makes the same inputs the same image.
        bud bud --isolation chroot --pull-never --layers --quiet --timestamp 0 --file "$dockerfile" --tag "$image" \
            "$@" "$context" >/dev/null
        bud push --quiet "$image" "docker-archive:$archive.part:$image" >&2
        mv "$archive.part" "$archive"
        for old in "$stem"-????????????????.tar; do
            if [ "$old" != "$archive" ]; then rm -f "$old"; fi
        done
        # What is tagged stays, so that the next build, of another target or of files that changed, starts from its layers.
        # Of a Dockerfile with targets buildah leaves containers, which would hold the images of earlier builds.
        bud rm --all >/dev/null
        bud rmi --prune >/dev/null
    fi
    printf '%s\n' "$archive"
}

# image_arguments_given DOCKERFILE [BUILDAH ARGUMENT]...: fails when the image to build on has no default and is not given.
image_arguments_given() {
    local dockerfile=$1 name names
    [ -e "$dockerfile" ] || fail "no $dockerfile: load takes a NAME of images/, or a folder (with a slash) that has one"
    shift
    names=$(awk 'toupper($1) == "FROM" {exit} toupper($1) == "ARG" && $2 !~ /=/ {print $2}' "$dockerfile")
    for name in $names; do
        [[ " $* " == *" --build-arg $name="?* ]] || fail "$dockerfile has no default for $name: --build-arg $name=VALUE"
    done
}

# base_archives [BUILDAH ARGUMENT]...: the archives of our images that arguments name.
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

# bases_up [BUILDAH ARGUMENT]...: of these, those that are not in storage.
bases_up() {
    local archive
    for archive in $(base_archives "$@"); do
        if bud inspect --type image "$(image_tags "$archive")" >/dev/null 2>&1; then continue; fi
        bud pull --quiet "docker-archive:$archive" >/dev/null
    done
}

# image_inputs DOCKERFILE CONTEXT: digests of the Dockerfile and of each file that it copies from the context.
image_inputs() {
    local dockerfile=$1 context=$2 source sources
    sha256sum <"$dockerfile"
    sources=$(copied_files "$dockerfile")
    for source in $sources; do
        if [[ $source == *[\$\[\"\\]* ]]; then
            fail "$dockerfile: COPY $source: only plain names on one line are understood"
        fi
        # Unquoted: COPY takes patterns.
        # shellcheck disable=SC2086
        (cd "$context" && find $source -type f -printf '%p %m ' -exec sha256sum {} \; | sort) ||
            fail "$dockerfile copies $source, which is not in $context (built it? see make help)"
    done
}

# copied_files DOCKERFILE: the sources of COPY and ADD that come from the context.
copied_files() {
    awk 'toupper($1) == "COPY" || toupper($1) == "ADD" {
        if ($0 ~ /--from=/) next
        for (i = 2; i < NF; i++) if ($i !~ /^--/) print $i
        if ($NF == "\\") print $NF
    }' "$1"
}

# base_images DOCKERFILE [BUILDAH ARGUMENT]...: the Debian images that either names.
base_images() {
    { cat "$1" && printf '%s\n' "${@:2}"; } | { grep -oE "$BASE_IMAGES" || true; } | sort -u
}

# base_build IMAGE: a Debian image that Dockerfiles start from, where there is none.
base_build() {
    if bud inspect --type image "$1" >/dev/null 2>&1; then return 0; fi
    local folder=$CACHE/images suite=${1##*:} container
    say "building the base image $1"
    mkdir -p "$folder"
    # It hands file descriptors to dash, which knows only those below 10: a caller's are closed, lest none is free.
    mmdebstrap --quiet --variant=minbase --include=ca-certificates \
        --dpkgopt='path-exclude=/usr/share/man/*' --dpkgopt='path-exclude=/usr/share/locale/*' \
        --dpkgopt='path-exclude=/usr/share/doc/*' --dpkgopt='path-include=/usr/share/doc/*/copyright' \
        "${suite%-slim}" "$folder/base.tar" >&2 3>&- 4>&- 5>&- 6>&- 7>&- 8>&- 9>&-
    container=$(bud from scratch)
    bud add --quiet "$container" "$folder/base.tar" / >/dev/null
    bud config --cmd /bin/bash --env PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin "$container"
    bud commit --quiet --rm "$container" "$1" >/dev/null
    rm -f "$folder/base.tar"
}

# pause_archive, coredns_archive: the images that the cluster itself runs on.
pause_archive() {
    local context=$CACHE/images/context/pause
    mkdir -p "$context"
    gcc -static -Os -s -o "$context/pause" "$HERE/images/pause/pause.c"
    image_build "$PAUSE_IMAGE" "$HERE/images/pause/Dockerfile" "$context"
}

coredns_archive() { image_build "$COREDNS_IMAGE" "$HERE/images/coredns/Dockerfile" "$(tool_folder coredns)"; }
