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

@test "load accepts a Docker archive" {
    archive=$(ls "$CACHE"/images/fabricbench.dev_loadtest_loud-*.tar)
    cp "$archive" "$BATS_TEST_TMPDIR/image.tar"
    "$TESTBED" load docker-archive "$BATS_TEST_TMPDIR/image.tar"
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
