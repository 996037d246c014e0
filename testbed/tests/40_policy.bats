# NetworkPolicies are enforced in both directions, between nodes and within a node.

setup_file() {
    load lib/common
    fresh_namespace policy
    fresh_namespace policy-other
    # The client shares node 1 with a neighbor; the server is on node 2.
    apply policy pod.yaml NAME=client NODE=node-1
    apply policy pod.yaml NAME=neighbor NODE=node-1
    apply policy pod.yaml NAME=server NODE=node-2
    apply policy-other pod.yaml NAME=outsider NODE=node-1
    pods_ready policy
    pods_ready policy-other
    services_serve policy client server neighbor
}

setup() { load lib/common; }

teardown() { kubectl -n policy delete networkpolicy --all --wait; }

policy() {
    render "$HERE/tests/manifests/policies.yaml" | kubectl -n policy create --dry-run=client -o json -f - |
        jq -s --arg name "$1" '.[] | select(.metadata.name == $name)' | kubectl -n policy apply -f -
}

address() { kubectl -n policy get pod "$1" -o 'jsonpath={.status.podIP}'; }

# blocked NAMESPACE POD tcp|udp HOST:PORT: waits until queries from the pod time out.
blocked() { await "$TIMEOUT" "$3 to $4 from $2 to be blocked" times_out_twice "$1" "$2" query "$3" "$4"; }

# all_blocked QUERY...: waits until the queries of all pods time out. A QUERY consists of the arguments of blocked.
all_blocked() {
    local query checks=() check
    for query in "$@"; do
        # shellcheck disable=SC2086  # the arguments contain no spaces
        blocked $query 3>&- &
        checks+=($!)
    done
    for check in "${checks[@]}"; do wait "$check"; done
}

# times_out_twice NAMESPACE POD ARGUMENT...: whether two successive queries time out, not counting timeouts of name
# resolution. A single timeout may be caused by a slow response.
times_out_twice() {
    for _ in 1 2; do
        run probe "$@"
        [ "$status" -ne 0 ] && [[ $output == *timeout* && $output != *lookup* ]] || return 1
    done
}

@test "without a policy, all pods reach each other" {
    reaches policy client tcp server:80 server
    reaches policy neighbor tcp client:80 client
    reaches policy-other outsider tcp server.policy:90 server
}

@test "ingress: deny-all blocks TCP and UDP from both nodes" {
    policy deny-ingress
    all_blocked 'policy client tcp server:80' 'policy client udp server:80' 'policy-other outsider tcp server.policy:80'
    # The pod can still send, and the kubelet's probes still reach it.
    reaches policy server tcp client:80 client
    kubectl -n policy wait pod/server --for=condition=Ready --timeout="${TIMEOUT}s"
}

@test "ingress: deny-all applies within a node, by address and by service" {
    policy deny-ingress
    kubectl -n policy label pod neighbor app=server --overwrite
    blocked policy client tcp "$(address neighbor):8080"
    kubectl -n policy label pod neighbor app=neighbor --overwrite
    reaches policy client tcp "$(address neighbor):8080" neighbor
    # The label change also removed the pod from its service.
    reaches policy client tcp neighbor:80 neighbor
}

@test "ingress: a named port and a pod selector allow only matching traffic" {
    policy allow-from-client
    all_blocked 'policy neighbor tcp server:80' 'policy client tcp server:90' 'policy client udp server:80'
    reaches policy client tcp server:80 server
}

@test "ingress: a namespace selector allows only the other namespace" {
    policy allow-from-other-namespace
    blocked policy client tcp server:80
    reaches policy-other outsider tcp server.policy:80 server
}

@test "egress: deny-all blocks DNS, pods, the node and the API server, but not incoming traffic" {
    policy deny-egress
    # Port 10250 is the kubelet's port on the pod's node.
    all_blocked "policy client tcp $(address server):8080" "policy client tcp $(address neighbor):8080" \
        "policy client tcp $(node_address node-1):10250" "policy client tcp $SERVICE_FIRST:443"
    run probe policy client query tcp server:80
    [[ $output == *"lookup server"* ]]
    reaches policy server tcp client:80 client
}

@test "egress: allowing DNS and the server allows only the server, by name" {
    policy allow-to-server-and-dns
    blocked policy client tcp neighbor:80
    reaches policy client tcp server:80 server
    reaches policy client udp server:80 server
}

@test "egress: an ipBlock allows only its addresses" {
    policy allow-to-pods-on-node-2
    blocked policy client tcp "$(address neighbor):8080"
    reaches policy client tcp "$(address server):8080" server
}

@test "a new pod is isolated from its first packet" {
    policy deny-egress
    blocked policy client tcp "$(address server):8080"
    kubectl -n policy run early --image="$PROBE_IMAGE" --image-pull-policy=Never --labels=app=client --overrides='{"spec": {
        "restartPolicy": "Never", "securityContext": {"runAsNonRoot": true, "seccompProfile": {"type": "RuntimeDefault"}}}}' \
        --override-type=merge --dry-run=client -o json --command -- \
        probe query tcp "$(address server):8080" |
        jq '.spec.containers[0].securityContext = {allowPrivilegeEscalation: false, capabilities: {drop: ["ALL"]}}' |
        kubectl -n policy apply -f -
    kubectl -n policy wait pod/early --for='jsonpath={.status.phase}=Failed' --timeout="${TIMEOUT}s"
    kubectl -n policy logs early | grep -F timeout
    kubectl -n policy delete pod early --wait
}

@test "after the policies are deleted, all pods reach each other again" {
    reaches policy client tcp server:80 server
    reaches policy client tcp neighbor:80 neighbor
    for node in node-1 node-2; do
        run nsenter "--net=/run/netns/$(node_netns "$node")" ipset list -name
        [[ $output != *fbt-* ]]
    done
}

@test "an unsupported policy makes the enforcer exit with an error that identifies the policy and the field" {
    policy not-implemented
    await "$TIMEOUT" "the enforcer to end" process_gone policy-node-1
    await "$TIMEOUT" "the enforcer to end" process_gone policy-node-2
    run "$TESTBED" status
    [ "$status" -eq 1 ]
    [[ $output == *"NetworkPolicy policy/not-implemented: egress[0]: ports[0].protocol: SCTP: not implemented"* ]]
    kubectl -n policy delete networkpolicy not-implemented --wait
    "$TESTBED" up --nodes 2
    "$TESTBED" status
}
