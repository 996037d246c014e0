# Messages while the tools are built.

setup() { load lib/common; }

@test "the progress of a build counts the compiled packages and keeps the compiler's messages" {
    # shellcheck disable=SC2034  # read by tool_progress
    PROGRESS_SECONDS=0
    run --separate-stderr tool_progress policy 3 <<'END'
internal/cpu
k8s.io/api/core/v1
# k8s.io/broken
./broken.go:1:2: syntax error
END
    [ "$status" -eq 0 ]
    [ "$output" = "" ]
    # shellcheck disable=SC2154  # set by run
    [[ $stderr == *"testbed: building policy: 2 of at most 3 packages compiled after "[0-9]*" s"* ]]
    [[ $stderr == *"# k8s.io/broken"*"./broken.go:1:2: syntax error"* ]]
}

@test "the progress of a build is printed at intervals" {
    run --separate-stderr tool_progress policy 3 <<<internal/cpu
    [ "$status" -eq 0 ]
    # shellcheck disable=SC2154  # set by run
    [ "$stderr" = "" ]
}
