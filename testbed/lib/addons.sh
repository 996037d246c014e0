# shellcheck shell=bash
# Add-ons that run in every cluster: DNS.

addons_up() {
    render "$HERE/manifests/coredns.yaml" "IMAGE=$COREDNS_IMAGE" "ADDRESS=$DNS_ADDRESS" |
        kubectl apply -f - >/dev/null
    await 180 "CoreDNS to be ready" dns_serves || fail "check testbed logs and kubectl -n kube-system describe pods"
}

dns_serves() {
    kubectl -n kube-system rollout status deployment/coredns --timeout=1s
}
