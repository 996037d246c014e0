# shellcheck shell=bash
# The enforcer of NetworkPolicies, one process in each node's namespace. One that meets a policy it does not implement
# ends; `status` then shows its last words, and `up` starts it again.

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
    config=$(node_folder "$node")/policy.kubeconfig
    [ -e "$config" ] || kubeconfig "$config" policy "/CN=$POLICY_USER" "https://$CONTROL_ADDRESS:6443"
    process_alive "policy-$node" || rm -f "$(node_folder "$node")/policy.enforced"
    process_start "policy-$node" "$(node_netns "$node")" "$(tool policy policy)" -kubeconfig "$config" -node "$node" \
        -pod-range "$(node_pod_range "$node")" -enforced "$(node_folder "$node")/policy.enforced"
}

policy_enforced() { [ -e "$(node_folder "$1")/policy.enforced" ]; }
