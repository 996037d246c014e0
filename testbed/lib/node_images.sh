# shellcheck shell=bash
# The images of the nodes. Each node's directory contains a record of each loaded image, so that loading the same image again
# has no effect. A record is a line with the digest and the path of the image's archive, as sha256sum prints it.

# archives_load NODES ARCHIVE...: loads the archives into the nodes. Several archives must come from image_build.
archives_load() {
    local nodes=$1 archive record records=()
    shift
    for archive in "$@"; do
        [ -e "$archive" ] || fail "archive $archive does not exist"
        [ -n "$(image_tags "$archive")" ] || fail "archive $archive contains no image name: save the image with its name"
        record=$(sha256sum "$(realpath -- "$archive")")
        records+=("$record")
    done
    records_load "$nodes" "${records[@]}"
}

# records_load NODES RECORD...: loads the archives with these records concurrently into those of the nodes that do not have all
# of them yet.
records_load() {
    local nodes=$1 node record records file merged=$CACHE/images/merged import imports=() failed=""
    local -A missing=() incomplete=()
    shift
    for node in $nodes; do
        for record in "$@"; do
            if ! image_loaded "$node" "$record"; then missing[$record]=1 incomplete[$node]=1; fi
        done
    done
    [ ${#missing[@]} -gt 0 ] || return 0
    records=("${!missing[@]}")
    file=${records[0]#*  }
    if [ ${#records[@]} -gt 1 ]; then
        file=$merged.tar
        archives_merge "$merged" "${records[@]#*  }"
    fi
    for node in "${!incomplete[@]}"; do
        archive_import "$node" "$file" "${records[@]}" &
        imports+=($!)
    done
    for import in "${imports[@]}"; do wait "$import" || failed=1; done
    rm -f "$merged.tar"
    # archive_import has already printed the error messages.
    [ -z "$failed" ] || exit 1
}

# archives_merge STEM ARCHIVE...: writes an archive that contains the images of all archives to STEM.tar, and each shared
# layer only once, so that each node reads it only once. In archives from image_build, files with the same name have the same
# content, except manifest.json, and repositories, which containerd ignores.
archives_merge() {
    local stem=$1 archive
    shift
    rm -rf "$stem" "$stem.tar"
    mkdir "$stem"
    for archive in "$@"; do
        tar -xf "$archive" -C "$stem" --skip-old-files
        tar -xOf "$archive" manifest.json
    done | jq -cs add >"$stem.tar"
    mv "$stem.tar" "$stem/manifest.json"
    (cd "$stem" && tar -c -- *) >"$stem.tar"
    rm -r "$stem"
}

# archive_import NODE ARCHIVE RECORD...: loads the archive, which contains the images with these records, into the node. The
# records are removed while the images are being replaced.
archive_import() {
    local node=$1 archive=$2 record file
    shift 2
    for record in "$@"; do rm -f "$(record_file "$node" "$record")"; done
    node_ctr "$node" images import "$archive" >/dev/null || fail "failed to load ${*#*  } into $node"
    for record in "$@"; do
        file=$(record_file "$node" "$record")
        mkdir -p "$(dirname "$file")"
        printf '%s\n' "$record" >"$file.part"
        mv "$file.part" "$file"
    done
}

# image_loaded NODE RECORD: whether the node has loaded the image with this record and still has it. A kubelet under disk
# pressure removes images that no container uses.
image_loaded() {
    local present
    [ "$(cat "$(record_file "$1" "$2")" 2>/dev/null)" = "$2" ] || return 1
    present=$(node_ctr "$1" images list --quiet)
    [ -z "$(comm -23 <(image_tags "${2#*  }" | sort) <(sort <<<"$present"))" ]
}

# record_file NODE RECORD: prints the path of the file with the node's record of the same image.
record_file() {
    local tags
    tags=$(image_tags "${2#*  }")
    printf '%s/loaded/%s' "$(node_dir "$1")" "$(head -n 1 <<<"$tags" | tr '/:' '__')"
}

# images_restore NODE: reloads the images that the node has lost.
images_restore() {
    local file
    for file in "$(node_dir "$1")"/loaded/*; do
        [ -e "$file" ] || continue
        if sha256sum --check --status "$file" 2>/dev/null; then
            records_load "$1" "$(<"$file")"
        else
            say "$(basename "$file") was not reloaded into $1, because its archive has changed: load it again"
        fi
    done
}
