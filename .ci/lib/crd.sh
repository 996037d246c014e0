# shellcheck shell=bash
# Waits until the API server serves BenchmarkRuns. Sourced by scripts that have just applied the definition.

# wait_for_crd: waits for the condition Established. `kubectl wait` fails if the definition has no conditions at all, as is
# the case immediately after it has been created, so it is repeated.
wait_for_crd() {
    local deadline=$((SECONDS + 60))
    until kubectl wait --for=condition=Established --timeout=30s crd/benchmarkruns.fabricbench.dev; do
        if [ "$SECONDS" -ge "$deadline" ]; then return 1; fi
        sleep 1
    done
}
