# Pods on both nodes reach each other by service name, and cannot reach anything outside the testbed.

setup_file() {
    load lib/common
    fresh_namespace network
    for index in 1 2; do apply network pod.yaml "NAME=pod-$index" "NODE=node-$index"; done
    pods_ready network
    services_serve network pod-1 pod-2
}

setup() { load lib/common; }

# query_fails_with MESSAGE HOST:PORT: whether a query fails with this message.
query_fails_with() { probe network pod-1 query tcp "$2" 2>&1 | grep -F "$1"; }

@test "pods on different nodes reach each other by service name over TCP and UDP" {
    reaches network pod-1 tcp pod-2:80 pod-2
    reaches network pod-2 tcp pod-1.network.svc.cluster.local:80 pod-1
    reaches network pod-1 udp pod-2:80 pod-2
}

@test "a pod reaches itself through its service" {
    # The query uses the full name, because the short name is in the pod's hosts file.
    reaches network pod-1 tcp pod-1.network.svc.cluster.local:80 pod-1
}

@test "a pod cannot reach the internet or the machine" {
    machine=$(ip -j -4 address show up scope global | jq -r '.[0].addr_info[0].local')
    for address in 1.1.1.1:53 "$machine:$CLUSTER_PORT"; do
        run probe network pod-1 query tcp "$address"
        [ "$status" -ne 0 ]
        [[ $output == *unreachable* ]]
    done
}

@test "a pod reaches the API server by its service name" {
    kubectl -n network exec pod-1 -- timeout "$TIMEOUT" bash -c 'exec 3<>/dev/tcp/kubernetes.default/443'
}

@test "a service without endpoints refuses connections" {
    kubectl -n network create service clusterip empty --tcp=80:80
    await "$TIMEOUT" "the refused connection" query_fails_with 'connection refused' empty:80
}

@test "a name that does not exist fails to resolve" {
    await "$TIMEOUT" "the DNS error" query_fails_with 'no such host' nothing.network.svc.cluster.local:80
}
