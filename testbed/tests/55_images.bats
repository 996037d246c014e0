# The product's own images: what they hold and declare, and a leg that two of them measure between the nodes.

setup_file() {
    load lib/common
    load lib/images
    namespace_fresh images
    for image in $(product_images); do "$TESTBED" load "$image"; done
}

setup() {
    load lib/common
    load lib/images
}

@test "the operator's image holds its program and the C library that starts it, and nothing else" {
    run image_files operator
    [ "$output" = "lib/x86_64-linux-gnu/libc.so.6
lib/x86_64-linux-gnu/libdl.so.2
lib/x86_64-linux-gnu/libgcc_s.so.1
lib/x86_64-linux-gnu/libm.so.6
lib/x86_64-linux-gnu/libpthread.so.0
lib/x86_64-linux-gnu/librt.so.1
lib64/ld-linux-x86-64.so.2
usr/local/bin/fabricbench-operator" ]
    [[ $(once operator /usr/local/bin/fabricbench-operator --version) == fabricbench-operator\ * ]]
}

@test "every image is small, of few layers, and not root's" {
    for image in $(product_images); do
        read -r size layers user <<<"$(image_mebibytes "$image") $(image_manifest "$image" '.Layers | length') $(image_config "$image" .config.User)"
        echo "# $image: $size MiB in $layers layers, user $user" >&3
        case $image in
            operator) [ "$size" -le 32 ] && [ "$layers" -le 3 ] ;;
            # The greater part is Debian's, the same layer in all of them.
            runner:*) [ "$size" -le 160 ] && [ "$layers" -le 4 ] ;;
        esac
        [ "$user" = 65532:65532 ]
    done
}

@test "the runner's images share all layers" {
    image_manifest runner:runner '.Layers[]' | sort >"$BATS_TEST_TMPDIR/common"
    for target in baseline fi-inject doorbell coalesce combined; do
        image_manifest "runner:$target" '.Layers[]' | sort >"$BATS_TEST_TMPDIR/target"
        run comm -23 "$BATS_TEST_TMPDIR/common" "$BATS_TEST_TMPDIR/target"
        [ -z "$output" ]
    done
}

@test "labels name the image, its licence, and the version that its program says" {
    version=$(once operator /usr/local/bin/fabricbench-operator --version)
    for image in $(product_images); do
        image_config "$image" '.config.Labels' | jq -e --arg name "fabricbench-${image%%:*}" --arg version "${version#fabricbench-operator }" '
            .["org.opencontainers.image.title"] == $name
            and .["org.opencontainers.image.version"] == $version
            and .["org.opencontainers.image.licenses"] == "Apache-2.0"
            and (.["org.opencontainers.image.description"] | length > 0)
            and has("org.opencontainers.image.revision")'
    done
}

@test "the programs in the images start on glibc 2.17" {
    for image in operator runner:runner; do
        program=usr/local/bin/fabricbench-${image%%:*}
        image_file "$image" "$program" >"$BATS_TEST_TMPDIR/program"
        needed=$("$HERE/../.ci/glibc-needed" "$BATS_TEST_TMPDIR/program")
        echo "# $image: its program needs glibc $needed" >&3
        [ "$(printf '%s\n' 2.17 "$needed" | sort -V | tail -n 1)" = 2.17 ]
    done
}

@test "each target says which tuning it is for, and the last says none" {
    for target in baseline fi-inject doorbell coalesce combined; do
        image_config "runner:$target" '.config.Env[]' | grep -x "FABRICBENCH_VARIANT=$target"
    done
    run ! grep FABRICBENCH_VARIANT <<<"$(image_config runner:runner '.config.Env[]')"
}

@test "the runner's image finds its libfabric, with a root that cannot be written" {
    run once runner:runner /usr/local/bin/fabricbench-runner probe --format json
    jq -e 'any(.[]; .name == "libfabric tcp" and (.result.Ok // "" | test("libfabric.so.1")))' <<<"$output"
}

@test "two runners measure between the nodes, and the image is in their records" {
    apply images leg.yaml IMAGE=fabricbench.dev/runner:doorbell DIGEST=sha256:0123
    job_completes images leg
    records | jq -es '
        map(.record) as $records
        | ($records | map(select(.kind == "hello") | .environment)
            | length == 2 and all(.imageDigest == "sha256:0123" and .imageVariant == "doorbell"))
        and ($records | map(select(.kind == "endpoints") | .fabric.rails[0].address | split(".")[2]) | sort == ["1", "2"])
        and ($records | any(.kind == "case" and .result.measured != null))
        and ($records | last | .kind == "end" and .complete)'
}

@test "an image that declares another tuning is refused" {
    kubectl -n images delete job/leg --wait
    apply images leg.yaml IMAGE=fabricbench.dev/runner:coalesce DIGEST=sha256:0123
    await "$PATIENCE" "the end of job leg" job_ended images leg
    records | grep VariantMismatch
}

@test "runner-efa runs on an image that brings its own libfabric, and its entry point is the runner" {
    base=$("$TESTBED" load "$HERE/tests/efa-base")
    "$TESTBED" load runner-efa --build-arg "BASE=$base"
    [ "$(image_config runner-efa .config.User)" = 65532:65532 ]
    [ "$(image_config runner-efa '.config.Entrypoint | join(" ")')" = /usr/local/bin/fabricbench-runner ]
    [[ $(once runner-efa /usr/local/bin/fabricbench-runner --version) == fabricbench-runner\ * ]]
    run once runner-efa /usr/local/bin/fabricbench-runner probe --format json
    jq -e 'any(.[]; .name == "libfabric tcp" and (.result.Ok // "" | test("/opt/amazon/efa/lib/libfabric.so.1")))' <<<"$output"
}

@test "runner-efa without a base is not built, and says what to give" {
    run "$TESTBED" load runner-efa
    [ "$status" -ne 0 ]
    [[ $output == *"runner-efa/Dockerfile has no default for BASE: --build-arg BASE=VALUE"* ]]
}
