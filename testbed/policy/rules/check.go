package rules

import (
	"errors"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
)

var errNotImplemented = errors.New("not implemented by the testbed's enforcer")

// check returns an error that identifies the first field that this package does not support.
func check(policy *networkingv1.NetworkPolicy) error {
	if len(policy.Spec.PolicyTypes) == 0 {
		return fmt.Errorf("policyTypes: empty: %w (the API server sets a default)", errNotImplemented)
	}
	for _, direction := range []Direction{Ingress, Egress} {
		for index, rule := range policyRules(policy, direction) {
			if err := rule.check(direction); err != nil {
				return fmt.Errorf("%s[%d]: %w", direction, index, err)
			}
		}
	}
	return nil
}

func (r rule) check(direction Direction) error {
	toAddresses := len(r.peers) == 0
	for index, peer := range r.peers {
		if peer.IPBlock == nil && peer.PodSelector == nil && peer.NamespaceSelector == nil {
			return fmt.Errorf("peer %d: no ipBlock, podSelector or namespaceSelector: %w", index, errNotImplemented)
		}
		toAddresses = toAddresses || peer.IPBlock != nil
	}
	for index, port := range r.ports {
		if protocol := protocolOf(port); protocol != corev1.ProtocolTCP && protocol != corev1.ProtocolUDP {
			return fmt.Errorf("ports[%d].protocol: %s: %w", index, protocol, errNotImplemented)
		}
		// Only containers define named ports, so the name cannot be resolved to a number for an address that does not belong
		// to a pod.
		if named(port) && direction == Egress && toAddresses {
			return fmt.Errorf("ports[%d].port: named port %q without pod peers or with an ipBlock: %w", index, port.Port.StrVal, errNotImplemented)
		}
	}
	return nil
}

func named(port networkingv1.NetworkPolicyPort) bool {
	return port.Port != nil && port.Port.Type == intstr.String
}

func protocolOf(port networkingv1.NetworkPolicyPort) corev1.Protocol {
	if port.Protocol == nil {
		return corev1.ProtocolTCP
	}
	return *port.Protocol
}
