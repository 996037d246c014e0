#!/usr/bin/env bats
# The project's images: their files, metadata and binaries, and a leg that two runners on different nodes measure.

bats_require_minimum_version 1.5.0

setup_file() {
    load lib/images
    fresh_namespace images
    "$TESTBED" load "${PRODUCT_IMAGES[@]}"
}

teardown_file() {
    load lib/images
    kubectl delete namespace images --ignore-not-found --wait=false
}

setup() {
    load lib/images
}

@test "the operator image contains only its binary and the C library" {
    run image_files operator
    [ "$output" = "lib/x86_64-linux-gnu/libc.so.6
lib/x86_64-linux-gnu/libdl.so.2
lib/x86_64-linux-gnu/libgcc_s.so.1
lib/x86_64-linux-gnu/libm.so.6
lib/x86_64-linux-gnu/libpthread.so.0
lib/x86_64-linux-gnu/librt.so.1
lib64/ld-linux-x86-64.so.2
usr/local/bin/fabricbench-operator" ]
    [[ $(pod_output operator /usr/local/bin/fabricbench-operator --version) == fabricbench-operator\ * ]]
}

@test "every image is small, has few layers and does not run as root" {
    for image in "${PRODUCT_IMAGES[@]}"; do
        read -r size layers user <<<"$(image_mebibytes "$image") $(image_manifest "$image" '.Layers | length') $(image_config "$image" .config.User)"
        echo "# $image: $size MiB in $layers layers, user $user" >&3
        case $image in
            operator)
                [ "$size" -le 32 ]
                [ "$layers" -le 3 ]
                ;;
            # Most of the size is the Debian layer, which all runner images share.
            runner:*)
                [ "$size" -le 160 ]
                [ "$layers" -le 4 ]
                ;;
        esac
        [ "$user" = 65532:65532 ]
    done
}

@test "the runner images share all layers" {
    image_manifest runner:runner '.Layers[]' | sort >"$BATS_TEST_TMPDIR/common"
    for target in baseline fi-inject doorbell coalesce combined; do
        image_manifest "runner:$target" '.Layers[]' | sort >"$BATS_TEST_TMPDIR/target"
        run comm -23 "$BATS_TEST_TMPDIR/common" "$BATS_TEST_TMPDIR/target"
        [ -z "$output" ]
    done
}

@test "labels contain the title, the license and the version that the binary reports" {
    version=$(pod_output operator /usr/local/bin/fabricbench-operator --version)
    for image in "${PRODUCT_IMAGES[@]}"; do
        image_config "$image" '.config.Labels' | jq -e --arg name "fabricbench-${image%%:*}" --arg version "${version#fabricbench-operator }" '
            .["org.opencontainers.image.title"] == $name
            and .["org.opencontainers.image.version"] == $version
            and .["org.opencontainers.image.licenses"] == "Apache-2.0"
            and (.["org.opencontainers.image.description"] | length > 0)
            and has("org.opencontainers.image.revision")'
    done
}

@test "the binaries in the images need at most glibc 2.17" {
    for image in operator runner:runner; do
        binary=usr/local/bin/fabricbench-${image%%:*}
        image_file "$image" "$binary" >"$BATS_TEST_TMPDIR/binary"
        needed=$("$HERE/../.ci/glibc-needed" "$BATS_TEST_TMPDIR/binary")
        echo "# $image: the binary needs glibc $needed" >&3
        [ "$(printf '%s\n' 2.17 "$needed" | sort -V | tail -n 1)" = 2.17 ]
    done
}

@test "each runner target declares its variant, and the generic one declares none" {
    for target in baseline fi-inject doorbell coalesce combined; do
        image_config "runner:$target" '.config.Env[]' | grep -x "FABRICBENCH_VARIANT=$target"
    done
    run ! grep FABRICBENCH_VARIANT <<<"$(image_config runner:runner '.config.Env[]')"
}

@test "the runner image finds its libfabric with a read-only root file system" {
    run pod_output runner:runner /usr/local/bin/fabricbench-runner probe --format json
    jq -e 'any(.[]; .name == "libfabric tcp" and (.result.Ok // "" | test("libfabric.so.1")))' <<<"$output"
}

@test "two runners on different nodes complete a leg and record their image digest and variant" {
    leg_start runner:doorbell
    job_completes images leg
    records | jq -es '
        map(.record) as $records
        | ($records | map(select(.kind == "hello") | .environment)
            | length == 2 and all(.imageDigest == "sha256:0123" and .imageVariant == "doorbell"))
        and ($records | map(select(.kind == "endpoints") | .fabric.rails[0].address | split(".")[2]) | unique | length == 2)
        and ($records | any(.kind == "case" and .result.measured != null))
        and ($records | last | .kind == "end" and .complete)'
}

@test "an image that declares a different variant is rejected" {
    kubectl -n images delete job/leg --wait
    leg_start runner:coalesce
    await "$TIMEOUT" "the end of job leg" job_ended images leg
    records | grep VariantMismatch
}

@test "runner-efa uses the libfabric of its base image, and its entry point is the runner" {
    base=$("$TESTBED" load "$TESTS/efa-base")
    "$TESTBED" load runner-efa --build-arg "BASE=$base"
    [ "$(image_config runner-efa .config.User)" = 65532:65532 ]
    [ "$(image_config runner-efa '.config.Entrypoint | join(" ")')" = /usr/local/bin/fabricbench-runner ]
    [[ $(pod_output runner-efa /usr/local/bin/fabricbench-runner --version) == fabricbench-runner\ * ]]
    run pod_output runner-efa /usr/local/bin/fabricbench-runner probe --format json
    jq -e 'any(.[]; .name == "libfabric tcp" and (.result.Ok // "" | test("/opt/amazon/efa/lib/libfabric.so.1")))' <<<"$output"
}

@test "building runner-efa without a base reports the missing argument" {
    run "$TESTBED" load runner-efa
    [ "$status" -ne 0 ]
    [[ $output == *"runner-efa/Dockerfile has no default for BASE: pass --build-arg BASE=VALUE"* ]]
}
