# Images: built from a Dockerfile when its inputs changed, and in each node then.

setup() {
    load lib/common
    # The name is fixed, so that the test finds what an earlier run of it left in the cache, and replaces it.
    folder=$BATS_FILE_TMPDIR/loadtest
    mkdir -p "$folder"
    cat >"$folder/Dockerfile" <<'DOCKERFILE'
FROM scratch AS plain
COPY greeting* probe /
USER 65532:65532
FROM plain AS loud
ENV TONE=loud
DOCKERFILE
    cp "$CACHE/images/context/probe/probe" "$folder/"
    [ -e "$folder/greeting" ] || echo "$BATS_RUN_TMPDIR" >"$folder/greeting"
}

# said IMAGE: what a container of it, in each node in turn, finds.
said() {
    local node
    for node in node-1 node-2; do
        ctr --address "$(node_folder "$node")/containerd.sock" --namespace k8s.io \
            run --rm --cgroup "/$CGROUP/$node/said" "$1" "said-$BATS_TEST_NUMBER" /probe show /greeting TONE
    done
}

@test "a target is built, and loaded into each node" {
    run --separate-stderr "$TESTBED" load "$folder:loud"
    [ "$status" -eq 0 ]
    [ "$output" = fabricbench.dev/loadtest:loud ]
    [[ $stderr == *"building image"* ]]
    run said fabricbench.dev/loadtest:loud
    [ "$output" = "$(printf '%s loud\n' "$(<"$folder/greeting")" "$(<"$folder/greeting")")" ]
}

@test "it is not built again when nothing changed" {
    run --separate-stderr "$TESTBED" load "$folder:loud"
    [ "$status" -eq 0 ]
    [ -z "$stderr" ]
}

@test "it is built again when a file that it copies changed" {
    echo other >"$folder/greeting"
    run --separate-stderr "$TESTBED" load "$folder:loud"
    [[ $stderr == *"building image"* ]]
    run said fabricbench.dev/loadtest:loud
    [ "$output" = "$(printf 'other loud\nother loud')" ]
}

@test "an archive of docker's form is loaded as it is" {
    archive=$(ls "$CACHE"/images/fabricbench.dev_loadtest_loud-*.tar)
    cp "$archive" "$BATS_TEST_TMPDIR/image.tar"
    "$TESTBED" load docker-archive "$BATS_TEST_TMPDIR/image.tar"
}

@test "a file that is not there is named" {
    rm "$folder/greeting"
    run "$TESTBED" load "$folder:loud"
    [ "$status" -ne 0 ]
    [[ $output == *"copies greeting*, which is not in"* ]]
}

@test "an image that is not there is named" {
    run "$TESTBED" load nothing
    [ "$status" -ne 0 ]
    [[ $output == *"images/nothing/Dockerfile"* ]]
}
