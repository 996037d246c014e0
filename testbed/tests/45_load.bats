# Images are built from a Dockerfile when its inputs change, and loaded into each node.

setup() {
    load lib/common
    # The directory name is fixed, so that each test run replaces the archive that an earlier one left in the cache.
    dir=$BATS_FILE_TMPDIR/loadtest
    mkdir -p "$dir"
    cat >"$dir/Dockerfile" <<'DOCKERFILE'
FROM scratch AS plain
COPY greeting* probe /
USER 65532:65532
FROM plain AS loud
ENV TONE=loud
DOCKERFILE
    cp "$CACHE/images/context/probe/probe" "$dir/"
    [ -e "$dir/greeting" ] || echo "$BATS_RUN_TMPDIR" >"$dir/greeting"
}

# An archive that a failed test has damaged must not be loaded by the next run.
teardown_file() {
    load lib/common
    rm -f "$CACHE"/images/fabricbench.dev_loadtest_*
}

# container_output IMAGE: runs a container from the image on each node and prints its output.
container_output() {
    local node
    for node in node-1 node-2; do
        ctr --address "$(node_dir "$node")/containerd.sock" --namespace k8s.io \
            run --rm --cgroup "/$CGROUP/$node/output" "$1" "output-$BATS_TEST_NUMBER" /probe show /greeting TONE
    done
}

@test "load builds a target and loads it into each node" {
    run --separate-stderr "$TESTBED" load "$dir:loud"
    [ "$status" -eq 0 ]
    [ "$output" = fabricbench.dev/loadtest:loud ]
    [[ $stderr == *"building image"* ]]
    run container_output fabricbench.dev/loadtest:loud
    [ "$output" = "$(printf '%s loud\n' "$(<"$dir/greeting")" "$(<"$dir/greeting")")" ]
}

@test "load does not rebuild without changes" {
    run --separate-stderr "$TESTBED" load "$dir:loud"
    [ "$status" -eq 0 ]
    [ -z "$stderr" ]
}

@test "load rebuilds after a copied file has changed" {
    echo other >"$dir/greeting"
    run --separate-stderr "$TESTBED" load "$dir:loud"
    [[ $stderr == *"building image"* ]]
    run container_output fabricbench.dev/loadtest:loud
    [ "$output" = "$(printf 'other loud\nother loud')" ]
}

@test "load loads several images that share a layer" {
    echo shared >"$dir/greeting"
    run --separate-stderr "$TESTBED" load "$dir:plain" "$dir:loud"
    [ "$output" = "$(printf 'fabricbench.dev/loadtest:%s\n' plain loud)" ]
    run container_output fabricbench.dev/loadtest:plain
    [ "$output" = "$(printf 'shared \nshared ')" ]
    run container_output fabricbench.dev/loadtest:loud
    [ "$output" = "$(printf 'shared loud\nshared loud')" ]
}

@test "load rejects build arguments for several images" {
    run "$TESTBED" load "$dir:plain" "$dir:loud" --build-arg NAME=value
    [ "$status" -ne 0 ]
    [[ $output == *"apply to one image"* ]]
}

@test "load accepts a Docker archive" {
    archive=$(ls "$CACHE"/images/fabricbench.dev_loadtest_loud-*.tar)
    cp "$archive" "$BATS_TEST_TMPDIR/image.tar"
    for node in node-1 node-2; do node_ctr "$node" images remove --sync fabricbench.dev/loadtest:loud; done
    "$TESTBED" load docker-archive "$BATS_TEST_TMPDIR/image.tar"
    run container_output fabricbench.dev/loadtest:loud
    [ "$output" = "$(printf 'shared loud\nshared loud')" ]
}

@test "load rejects an archive that is not an image" {
    tar -cf "$BATS_TEST_TMPDIR/image.tar" -C "$dir" greeting
    run "$TESTBED" load docker-archive "$BATS_TEST_TMPDIR/image.tar"
    [ "$status" -ne 0 ]
    [[ $output == *"image.tar contains no image name"* ]]
}

@test "an import that fails is repeated by the next load" {
    archive=$(ls "$CACHE"/images/fabricbench.dev_loadtest_plain-*.tar)
    # containerd rejects an archive whose layer is missing.
    tar --delete --file "$archive" --wildcards '*.tar'
    run "$TESTBED" load docker-archive "$archive"
    [ "$status" -ne 0 ]
    [[ $output == *"failed to load $archive into node-1"* ]]
    rm "$archive"
    "$TESTBED" load "$dir:plain"
    run container_output fabricbench.dev/loadtest:plain
    [ "$output" = "$(printf 'shared \nshared ')" ]
}

@test "load reports a file that is missing from the context" {
    rm "$dir/greeting"
    run "$TESTBED" load "$dir:loud"
    [ "$status" -ne 0 ]
    [[ $output == *"copies greeting*, which is not in"* ]]
}

@test "load reports the missing Dockerfile of an unknown image" {
    run "$TESTBED" load nothing
    [ "$status" -ne 0 ]
    [[ $output == *"images/nothing/Dockerfile"* ]]
}
