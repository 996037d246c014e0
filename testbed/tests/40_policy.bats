# NetworkPolicies are enforced, in both directions, between nodes and within one.

setup_file() {
    load lib/common
    namespace_fresh policy
    namespace_fresh policy-other
    # The client shares node 1 with a neighbour; the server is on node 2.
    apply policy pod.yaml NAME=client NODE=node-1
    apply policy pod.yaml NAME=neighbour NODE=node-1
    apply policy pod.yaml NAME=server NODE=node-2
    apply policy-other pod.yaml NAME=stranger NODE=node-1
    kubectl -n policy wait pod --all --for=condition=Ready --timeout=60s
    kubectl -n policy-other wait pod --all --for=condition=Ready --timeout=60s
    services_serve policy client server neighbour
}

setup() { load lib/common; }

teardown() { kubectl -n policy delete networkpolicy --all --wait; }

policy() {
    render "$HERE/tests/manifests/policies.yaml" | kubectl -n policy create --dry-run=client -o json -f - |
        jq -s --arg name "$1" '.[] | select(.metadata.name == $name)' | kubectl -n policy apply -f -
}

address() { kubectl -n policy get pod "$1" -o 'jsonpath={.status.podIP}'; }

refused() {
    run probe "$@"
    [ "$status" -ne 0 ] && [[ $output == *timeout* ]]
}

@test "without a policy all reach all" {
    probe policy client ask tcp server:80
    probe policy neighbour ask tcp client:80
    probe policy-other stranger ask tcp server.policy:90
}

@test "ingress: a pod that may receive nothing is reached by none, of either node, by TCP or UDP" {
    policy receive-nothing
    await 10 "the policy" refused policy client ask tcp server:80
    refused policy client ask udp server:80
    refused policy-other stranger ask tcp server.policy:80
    # It may send, and kubelet's probes reach it.
    probe policy server ask tcp client:80
    kubectl -n policy wait pod/server --for=condition=Ready --timeout=5s
}

@test "ingress: within one node as well, by address and by service" {
    policy receive-nothing
    kubectl -n policy label pod neighbour app=server --overwrite
    await 10 "the policy" refused policy client ask tcp "$(address neighbour):8080"
    kubectl -n policy label pod neighbour app=neighbour --overwrite
    await 10 "the neighbour to be free" probe policy client ask tcp "$(address neighbour):8080"
    # The label took it out of its service, too.
    await 10 "its service" probe policy client ask tcp neighbour:80
}

@test "ingress: what is allowed flows, by named port and pod selector, and nothing else" {
    policy receive-from-client
    await 10 "the policy" refused policy neighbour ask tcp server:80
    [ "$(probe policy client ask tcp server:80)" = server ]
    refused policy client ask tcp server:90
    refused policy client ask udp server:80
}

@test "ingress: a namespace selector lets the other namespace in, and not its own" {
    policy receive-from-other-namespace
    await 10 "the policy" refused policy client ask tcp server:80
    [ "$(probe policy-other stranger ask tcp server.policy:80)" = server ]
}

@test "egress: a pod that may send nothing has no DNS, no neighbour, no node, but is reached" {
    policy send-nothing
    await 10 "the policy" refused policy client ask tcp "$(address server):8080"
    run probe policy client ask tcp server:80
    [[ $output == *"lookup server"* ]]
    refused policy client ask tcp "$(address neighbour):8080"
    # Its own node: kubelet's port.
    refused policy client ask tcp "$(node_address node-1):10250"
    refused policy client ask tcp kubernetes.default:443 || [[ $output == *"lookup kubernetes"* ]]
    [ "$(probe policy server ask tcp client:80)" = client ]
}

@test "egress: with DNS and the server allowed it reaches that by name, and no one else" {
    policy send-to-server-and-dns
    await 10 "the policy" refused policy client ask tcp neighbour:80
    [ "$(probe policy client ask tcp server:80)" = server ]
    [ "$(probe policy client ask udp server:80)" = server ]
}

@test "egress: a block of addresses" {
    policy send-to-pods-of-node-2
    await 10 "the policy" refused policy client ask tcp "$(address neighbour):8080"
    [ "$(probe policy client ask tcp "$(address server):8080")" = server ]
}

@test "a pod that is new is isolated from its first packet" {
    policy send-nothing
    await 10 "the policy" refused policy client ask tcp "$(address server):8080"
    kubectl -n policy run early --image="$PROBE_IMAGE" --image-pull-policy=Never --labels=app=client --overrides='{"spec": {
        "restartPolicy": "Never", "securityContext": {"runAsNonRoot": true, "seccompProfile": {"type": "RuntimeDefault"}}}}' \
        --override-type=merge --dry-run=client -o json --command -- \
        probe ask tcp "$(address server):8080" |
        jq '.spec.containers[0].securityContext = {allowPrivilegeEscalation: false, capabilities: {drop: ["ALL"]}}' |
        kubectl -n policy apply -f -
    kubectl -n policy wait pod/early --for='jsonpath={.status.phase}=Failed' --timeout=30s
    kubectl -n policy logs early | grep -F timeout
    kubectl -n policy delete pod early --wait
}

@test "when the policies are gone all reach all again" {
    await 10 "no policy" probe policy client ask tcp server:80
    probe policy client ask tcp neighbour:80
    for node in node-1 node-2; do
        run nsenter "--net=/run/netns/$(node_netns "$node")" ipset list -name
        [[ $output != *fbt-* ]]
    done
}

@test "a policy that is not implemented ends the enforcer, which says which and why" {
    policy not-implemented
    await 10 "the enforcer to end" process_gone policy-node-1
    await 10 "the enforcer to end" process_gone policy-node-2
    run "$TESTBED" status
    [ "$status" -eq 1 ]
    [[ $output == *"NetworkPolicy policy/not-implemented: egress[0]: ports[0].protocol: SCTP: not implemented"* ]]
    kubectl -n policy delete networkpolicy not-implemented --wait
    "$TESTBED" up --nodes 2
    "$TESTBED" status
}
