# shellcheck shell=bash
# The NetworkPolicy enforcer: one process in each node's network namespace. An enforcer exits if a policy uses a feature it
# does not implement; `status` then shows the end of its log, and `up` restarts it.

POLICY_USER=fabricbench-testbed:policy

policies_up() {
    local node
    render "$HERE/manifests/policy.yaml" "USER=$POLICY_USER" | kubectl apply -f - >/dev/null
    for node in $(node_names); do policy_start "$node"; done
    for node in $(node_names); do
        await_process "policy-$node" 120 "NetworkPolicies on $node" policy_enforced "$node"
    done
}

policy_start() {
    local node=$1 config
    config=$(node_dir "$node")/policy.kubeconfig
    [ -e "$config" ] || kubeconfig "$config" policy "/CN=$POLICY_USER" "https://$CONTROL_ADDRESS:6443"
    process_alive "policy-$node" || rm -f "$(node_dir "$node")/policy.ready"
    process_start "policy-$node" "$(node_netns "$node")" "$(tool policy policy)" -kubeconfig "$config" -node "$node" \
        -pod-range "$(node_pod_range "$node")" -ready-file "$(node_dir "$node")/policy.ready"
}

policy_enforced() { [ -e "$(node_dir "$1")/policy.ready" ]; }
