# Pods of both nodes reach each other by service name, and nothing outside.

setup_file() {
    load lib/common
    namespace_fresh network
    for index in 1 2; do apply network pod.yaml "NAME=pod-$index" "NODE=node-$index"; done
    kubectl -n network wait pod --all --for=condition=Ready --timeout=60s
    services_serve network pod-1 pod-2
}

setup() { load lib/common; }

refused_by() { probe network pod-1 ask tcp "$1:80" 2>&1 | grep -F 'connection refused'; }

@test "a pod on each node reaches the other by its service name, by TCP and UDP" {
    [ "$(probe network pod-1 ask tcp pod-2:80)" = pod-2 ]
    [ "$(probe network pod-2 ask tcp pod-1.network.svc.cluster.local:80)" = pod-1 ]
    [ "$(probe network pod-1 ask udp pod-2:80)" = pod-2 ]
}

@test "a pod reaches itself through its service" {
    # By its whole name: the short one is in the pod's own hosts file.
    [ "$(probe network pod-1 ask tcp pod-1.network.svc.cluster.local:80)" = pod-1 ]
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
    kubectl -n network exec pod-1 -- timeout 5 bash -c 'exec 3<>/dev/tcp/kubernetes.default/443'
}

@test "a service without endpoints refuses" {
    kubectl -n network create service clusterip empty --tcp=80:80
    await 10 "the refusal" refused_by empty
}

@test "a name that does not exist is refused at once" {
    run probe network pod-1 ask tcp nothing.network.svc.cluster.local:80
    [ "$status" -ne 0 ]
    [[ $output == *"no such host"* ]]
}
