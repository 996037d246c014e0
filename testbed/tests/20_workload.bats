# A gang like those of campaigns (an Indexed Job on two nodes, with devices), and the kubectl commands logs, exec,
# describe and port-forward.

setup_file() {
    load lib/common
    fresh_namespace workload
}

setup() { load lib/common; }

reports_insufficient_efa_devices() {
    kubectl -n workload get pod "$1" -o 'jsonpath={.status.conditions[?(@.type=="PodScheduled")].message}' |
        grep -F 'Insufficient vpc.amazonaws.com/efa'
}

@test "a two-pod Indexed Job with headless service, success policy, EFA and GPU completes" {
    started=$SECONDS
    apply workload gang.yaml
    job_completes workload gang
    echo "# complete after $((SECONDS - started)) s" >&3
    kubectl -n workload get job gang -o json |
        jq -e '[.status.conditions[] | select(.type == "SuccessCriteriaMet" and .status == "True")] | length == 1'
}

@test "the log of the first pod shows a connection from the other node" {
    first=batch.kubernetes.io/job-completion-index=0
    address=$(kubectl -n workload get pods -l "$first" -o 'jsonpath={.items[0].status.podIP}')
    peer=$(kubectl -n workload logs -l "$first" | sed -n 's/^connection from \(.*\):.*/\1/p')
    [[ $peer == 10.232.* ]]
    # Each node has its own /24 pod range.
    [ "${peer%.*}" != "${address%.*}" ]
}

@test "a pod that requests too many EFA devices stays Pending with the scheduler's message" {
    apply workload greedy.yaml
    await "$TIMEOUT" "the scheduler's message" reports_insufficient_efa_devices greedy
    [ "$(kubectl -n workload get pod greedy -o 'jsonpath={.status.phase}')" = Pending ]
    kubectl -n workload delete pod greedy --wait
}

@test "exec and describe work" {
    apply workload pod.yaml NAME=server NODE=node-1
    kubectl -n workload wait pod/server --for=condition=Ready --timeout="${TIMEOUT}s"
    [ "$(kubectl -n workload exec server -- id -u)" = 65532 ]
    run kubectl -n workload describe pod server
    [[ $output == *"Started container"* || $output == *"Container started"* ]]
}

@test "port-forward works" {
    # The test starts the binary directly, so that it later kills kubectl and not a shell. Descriptor 3 is closed,
    # because bats reads from it until all processes that hold it have ended.
    "$(kubernetes kubectl)" --kubeconfig "$SITE/kubeconfig" -n workload port-forward pod/server :8080 \
        >"$BATS_TEST_TMPDIR/forward" 3>&- &
    forwarder=$!
    await "$TIMEOUT" "the forwarder" grep -q Forwarding "$BATS_TEST_TMPDIR/forward"
    port=$(sed -n 's/^Forwarding from 127.0.0.1:\([0-9]*\) .*/\1/p' "$BATS_TEST_TMPDIR/forward")
    response=$(cat <"/dev/tcp/127.0.0.1/$port")
    kill "$forwarder"
    [ "$response" = server ]
}

@test "a pod gets huge pages if the machine provides them" {
    if kubectl get nodes -o json | jq -e 'all(.items[].status.allocatable["hugepages-2Mi"]; . == "0")'; then
        skip "the machine provides no huge pages"
    fi
    apply workload hugepages.yaml
    kubectl -n workload wait pod/hugepages --for='jsonpath={.status.phase}=Succeeded' --timeout="${TIMEOUT}s"
    [ "$(kubectl -n workload logs hugepages)" = 2097152 ]
}
