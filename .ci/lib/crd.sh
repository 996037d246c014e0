# shellcheck shell=bash
# Waits until the API server serves BenchmarkRuns. Sourced by scripts that have just applied the definition.

# wait_for_crd: waits for the condition Established. `kubectl wait` fails if the definition has no conditions at all, as is
# the case immediately after it has been created, so it is repeated.
wait_for_crd() {
    local attempt
    for attempt in {1..30}; do
        if kubectl wait --for=condition=Established --timeout=30s crd/benchmarkruns.fabricbench.dev; then return; fi
        printf 'attempt %d: the definition has no conditions yet\n' "$attempt" >&2
        sleep 1
    done
    return 1
}
