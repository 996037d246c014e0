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
    pods_ready policy
    pods_ready policy-other
    services_serve policy client server neighbour
}

setup() { load lib/common; }

teardown() { kubectl -n policy delete networkpolicy --all --wait; }

policy() {
    render "$HERE/tests/manifests/policies.yaml" | kubectl -n policy create --dry-run=client -o json -f - |
        jq -s --arg name "$1" '.[] | select(.metadata.name == $name)' | kubectl -n policy apply -f -
}

address() { kubectl -n policy get pod "$1" -o 'jsonpath={.status.podIP}'; }

# refused NAMESPACE POD tcp|udp HOST:PORT: awaits that the pod asks in vain.
refused() { await "$PATIENCE" "$3 to $4 from $2 to be refused" in_vain "$1" "$2" ask "$3" "$4"; }

# in_vain NAMESPACE POD ARGUMENT...: twice, for a single answer may be late; and not for want of an address.
in_vain() {
    for _ in 1 2; do
        run probe "$@"
        [ "$status" -ne 0 ] && [[ $output == *timeout* && $output != *lookup* ]] || return 1
    done
}

@test "without a policy all reach all" {
    reaches policy client tcp server:80 server
    reaches policy neighbour tcp client:80 client
    reaches policy-other stranger tcp server.policy:90 server
}

@test "ingress: a pod that may receive nothing is reached by none, of either node, by TCP or UDP" {
    policy receive-nothing
    refused policy client tcp server:80
    refused policy client udp server:80
    refused policy-other stranger tcp server.policy:80
    # It may send, and kubelet's probes reach it.
    reaches policy server tcp client:80 client
    kubectl -n policy wait pod/server --for=condition=Ready --timeout="${PATIENCE}s"
}

@test "ingress: within one node as well, by address and by service" {
    policy receive-nothing
    kubectl -n policy label pod neighbour app=server --overwrite
    refused policy client tcp "$(address neighbour):8080"
    kubectl -n policy label pod neighbour app=neighbour --overwrite
    reaches policy client tcp "$(address neighbour):8080" neighbour
    # The label took it out of its service, too.
    reaches policy client tcp neighbour:80 neighbour
}

@test "ingress: what is allowed flows, by named port and pod selector, and nothing else" {
    policy receive-from-client
    refused policy neighbour tcp server:80
    reaches policy client tcp server:80 server
    refused policy client tcp server:90
    refused policy client udp server:80
}

@test "ingress: a namespace selector lets the other namespace in, and not its own" {
    policy receive-from-other-namespace
    refused policy client tcp server:80
    reaches policy-other stranger tcp server.policy:80 server
}

@test "egress: a pod that may send nothing has no DNS, no neighbour, no node, but is reached" {
    policy send-nothing
    refused policy client tcp "$(address server):8080"
    run probe policy client ask tcp server:80
    [[ $output == *"lookup server"* ]]
    refused policy client tcp "$(address neighbour):8080"
    # Its own node: kubelet's port.
    refused policy client tcp "$(node_address node-1):10250"
    refused policy client tcp "$SERVICE_FIRST:443"
    reaches policy server tcp client:80 client
}

@test "egress: with DNS and the server allowed it reaches that by name, and no one else" {
    policy send-to-server-and-dns
    refused policy client tcp neighbour:80
    reaches policy client tcp server:80 server
    reaches policy client udp server:80 server
}

@test "egress: a block of addresses" {
    policy send-to-pods-of-node-2
    refused policy client tcp "$(address neighbour):8080"
    reaches policy client tcp "$(address server):8080" server
}

@test "a pod that is new is isolated from its first packet" {
    policy send-nothing
    refused policy client tcp "$(address server):8080"
    kubectl -n policy run early --image="$PROBE_IMAGE" --image-pull-policy=Never --labels=app=client --overrides='{"spec": {
        "restartPolicy": "Never", "securityContext": {"runAsNonRoot": true, "seccompProfile": {"type": "RuntimeDefault"}}}}' \
        --override-type=merge --dry-run=client -o json --command -- \
        probe ask tcp "$(address server):8080" |
        jq '.spec.containers[0].securityContext = {allowPrivilegeEscalation: false, capabilities: {drop: ["ALL"]}}' |
        kubectl -n policy apply -f -
    kubectl -n policy wait pod/early --for='jsonpath={.status.phase}=Failed' --timeout="${PATIENCE}s"
    kubectl -n policy logs early | grep -F timeout
    kubectl -n policy delete pod early --wait
}

@test "when the policies are gone all reach all again" {
    reaches policy client tcp server:80 server
    reaches policy client tcp neighbour:80 neighbour
    for node in node-1 node-2; do
        run nsenter "--net=/run/netns/$(node_netns "$node")" ipset list -name
        [[ $output != *fbt-* ]]
    done
}

@test "a policy that is not implemented ends the enforcer, which says which and why" {
    policy not-implemented
    await "$PATIENCE" "the enforcer to end" process_gone policy-node-1
    await "$PATIENCE" "the enforcer to end" process_gone policy-node-2
    run "$TESTBED" status
    [ "$status" -eq 1 ]
    [[ $output == *"NetworkPolicy policy/not-implemented: egress[0]: ports[0].protocol: SCTP: not implemented"* ]]
    kubectl -n policy delete networkpolicy not-implemented --wait
    "$TESTBED" up --nodes 2
    "$TESTBED" status
}
