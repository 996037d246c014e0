# shellcheck shell=bash
# What runs in the cluster from the start: DNS.

addons_up() {
    render "$HERE/manifests/coredns.yaml" "IMAGE=$COREDNS_IMAGE" "ADDRESS=$DNS_ADDRESS" |
        kubectl apply -f - >/dev/null
    await 180 "CoreDNS to serve" dns_serves || fail "look at: testbed logs, kubectl -n kube-system describe pods"
}

dns_serves() {
    kubectl -n kube-system rollout status deployment/coredns --timeout=1s
}
