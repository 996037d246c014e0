# Pods of both nodes reach each other by service name, and nothing outside.

setup_file() {
    load lib/common
    namespace_fresh network
    for index in 1 2; do apply network pod.yaml "NAME=pod-$index" "NODE=node-$index"; done
    pods_ready network
    services_serve network pod-1 pod-2
}

setup() { load lib/common; }

# no_answer_for WORDS HOST:PORT: whether that is why there is no answer.
no_answer_for() { probe network pod-1 ask tcp "$2" 2>&1 | grep -F "$1"; }

@test "a pod on each node reaches the other by its service name, by TCP and UDP" {
    reaches network pod-1 tcp pod-2:80 pod-2
    reaches network pod-2 tcp pod-1.network.svc.cluster.local:80 pod-1
    reaches network pod-1 udp pod-2:80 pod-2
}

@test "a pod reaches itself through its service" {
    # By its whole name: the short one is in the pod's own hosts file.
    reaches network pod-1 tcp pod-1.network.svc.cluster.local:80 pod-1
}

@test "a pod cannot reach the outside, nor the machine" {
    machine=$(ip -j -4 address show up scope global | jq -r '.[0].addr_info[0].local')
    for address in 1.1.1.1:53 "$machine:$CLUSTER_PORT"; do
        run probe network pod-1 ask tcp "$address"
        [ "$status" -ne 0 ]
        [[ $output == *unreachable* ]]
    done
}

@test "a pod reaches the API server by its service name" {
    kubectl -n network exec pod-1 -- timeout "$PATIENCE" bash -c 'exec 3<>/dev/tcp/kubernetes.default/443'
}

@test "a service without endpoints refuses" {
    kubectl -n network create service clusterip empty --tcp=80:80
    await "$PATIENCE" "the refusal" no_answer_for 'connection refused' empty:80
}

@test "a name that does not exist is said not to" {
    await "$PATIENCE" "that answer" no_answer_for 'no such host' nothing.network.svc.cluster.local:80
}
