package rules

import (
	"fmt"
	"net/netip"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
)

// matches returns the matches of a rule for a pod: every combination of the rule's peers and ports.
func (c *compiler) matches(namespace string, pod endpoint, direction Direction, rule rule) ([]Match, error) {
	peers, blocks, err := c.peers(namespace, rule)
	if err != nil {
		return nil, err
	}
	if len(rule.ports) == 0 {
		return c.peerMatches(rule, peers, blocks, Match{}), nil
	}
	var found []Match
	for _, port := range rule.ports {
		match := Match{Protocol: strings.ToLower(string(protocolOf(port)))}
		switch {
		case !named(port):
			match.Ports = portNumbers(port)
			found = append(found, c.peerMatches(rule, peers, blocks, match)...)
		case direction == Ingress:
			// The name refers to one of the pod's own ports. The rule does not apply to a pod without such a port.
			if number, exists := namedPortNumber(pod.pod, port); exists {
				match.Ports = number
				found = append(found, c.peerMatches(rule, peers, blocks, match)...)
			}
		default:
			found = append(found, c.namedPortMatches(peers, port, match)...)
		}
	}
	return found, nil
}

// peerMatches returns one match for all peers that are pods, and one for each address block.
func (c *compiler) peerMatches(rule rule, peers []endpoint, blocks []string, match Match) []Match {
	if len(rule.peers) == 0 {
		return []Match{match}
	}
	var found []Match
	if len(peers) > 0 {
		match.Set = c.sets.addPods(peers)
		found = append(found, match)
	}
	for _, block := range blocks {
		match.Set = block
		found = append(found, match)
	}
	return found
}

// namedPortMatches returns one match for each port number to which the name resolves in any of the peers.
func (c *compiler) namedPortMatches(peers []endpoint, port networkingv1.NetworkPolicyPort, match Match) []Match {
	byNumber := map[string][]endpoint{}
	for _, peer := range peers {
		if number, exists := namedPortNumber(peer.pod, port); exists {
			byNumber[number] = append(byNumber[number], peer)
		}
	}
	var found []Match
	for number, pods := range byNumber {
		match.Set, match.Ports = c.sets.addPods(pods), number
		found = append(found, match)
	}
	return found
}

// peers returns the pods that a rule's selectors match, and the set names of its address blocks.
func (c *compiler) peers(namespace string, rule rule) ([]endpoint, []string, error) {
	var pods []endpoint
	var blocks []string
	selected := map[netip.Addr]bool{}
	for index, peer := range rule.peers {
		if peer.IPBlock != nil {
			set, err := c.sets.addBlock(peer.IPBlock)
			if err != nil {
				return nil, nil, fmt.Errorf("peer %d: ipBlock: %w", index, err)
			}
			blocks = append(blocks, set)
			continue
		}
		inNamespace, err := c.namespaceMatcher(namespace, peer.NamespaceSelector)
		if err != nil {
			return nil, nil, fmt.Errorf("peer %d: namespaceSelector: %w", index, err)
		}
		selector := labels.Everything()
		if peer.PodSelector != nil {
			if selector, err = metav1.LabelSelectorAsSelector(peer.PodSelector); err != nil {
				return nil, nil, fmt.Errorf("peer %d: podSelector: %w", index, err)
			}
		}
		for _, pod := range c.endpoints {
			if inNamespace(pod.pod.Namespace) && selector.Matches(labels.Set(pod.pod.Labels)) && !selected[pod.address] {
				selected[pod.address] = true
				pods = append(pods, pod)
			}
		}
	}
	return pods, blocks, nil
}

// namespaceMatcher returns a function that matches namespace names. Without a selector, it matches only the policy's
// own namespace.
func (c *compiler) namespaceMatcher(own string, selector *metav1.LabelSelector) (func(string) bool, error) {
	if selector == nil {
		return func(name string) bool { return name == own }, nil
	}
	matcher, err := metav1.LabelSelectorAsSelector(selector)
	if err != nil {
		return nil, err
	}
	return func(name string) bool {
		set, known := c.namespaces[name]
		return known && matcher.Matches(set)
	}, nil
}

// portNumbers formats a numeric port or range for iptables; it returns an empty string if all ports are allowed.
func portNumbers(port networkingv1.NetworkPolicyPort) string {
	switch {
	case port.Port == nil:
		return ""
	case port.EndPort != nil:
		return fmt.Sprintf("%d:%d", port.Port.IntVal, *port.EndPort)
	default:
		return strconv.Itoa(int(port.Port.IntVal))
	}
}

// namedPortNumber returns the number of a named port in a pod's containers.
func namedPortNumber(pod *corev1.Pod, port networkingv1.NetworkPolicyPort) (string, bool) {
	for _, container := range pod.Spec.Containers {
		for _, candidate := range container.Ports {
			protocol := candidate.Protocol
			if protocol == "" {
				protocol = corev1.ProtocolTCP
			}
			if candidate.Name == port.Port.StrVal && protocol == protocolOf(port) {
				return strconv.Itoa(int(candidate.ContainerPort)), true
			}
		}
	}
	return "", false
}
