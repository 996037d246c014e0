# A gang as a benchmark has: an Indexed Job over two nodes, its devices, logs, exec, describe.

setup_file() {
    load lib/common
    namespace_fresh workload
}

setup() { load lib/common; }

refused_for_want_of_adapters() {
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

@test "the log of its first pod says that a pod of the other node asked" {
    first=batch.kubernetes.io/job-completion-index=0
    address=$(kubectl -n workload get pods -l "$first" -o 'jsonpath={.items[0].status.podIP}')
    asker=$(kubectl -n workload logs -l "$first" | sed -n 's/^asked by \(.*\):.*/\1/p')
    [[ $asker == 10.232.* ]]
    # Each node has a /24 of the pods' addresses.
    [ "${asker%.*}" != "${address%.*}" ]
}

@test "a pod that asks for too many adapters stays Pending, with the scheduler's words" {
    apply workload greedy.yaml
    await "$PATIENCE" "the scheduler's verdict" refused_for_want_of_adapters greedy
    [ "$(kubectl -n workload get pod greedy -o 'jsonpath={.status.phase}')" = Pending ]
    kubectl -n workload delete pod greedy --wait
}

@test "exec and describe work" {
    apply workload pod.yaml NAME=standing NODE=node-1
    kubectl -n workload wait pod/standing --for=condition=Ready --timeout="${PATIENCE}s"
    [ "$(kubectl -n workload exec standing -- id -u)" = 65532 ]
    run kubectl -n workload describe pod standing
    [[ $output == *"Started container"* || $output == *"Container started"* ]]
}

@test "port-forward works" {
    # The program itself, for it is what is killed; 3 is where bats reads, until all that hold it have ended.
    "$(kubernetes kubectl)" --kubeconfig "$SITE/kubeconfig" -n workload port-forward pod/standing :8080 \
        >"$BATS_TEST_TMPDIR/forward" 3>&- &
    forwarder=$!
    await "$PATIENCE" "the forwarder" grep -q Forwarding "$BATS_TEST_TMPDIR/forward"
    port=$(sed -n 's/^Forwarding from 127.0.0.1:\([0-9]*\) .*/\1/p' "$BATS_TEST_TMPDIR/forward")
    answer=$(cat <"/dev/tcp/127.0.0.1/$port")
    kill "$forwarder"
    [ "$answer" = standing ]
}

@test "a pod gets huge pages, where the machine gave some" {
    if kubectl get nodes -o json | jq -e 'all(.items[].status.allocatable["hugepages-2Mi"]; . == "0")'; then
        skip "the machine gives no huge pages"
    fi
    apply workload hugepages.yaml
    kubectl -n workload wait pod/hugepages --for='jsonpath={.status.phase}=Succeeded' --timeout="${PATIENCE}s"
    [ "$(kubectl -n workload logs hugepages)" = 2097152 ]
}
