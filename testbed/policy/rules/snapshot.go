// Package rules compiles NetworkPolicies, pods and namespaces to packet filter rules for one node. Performs no I/O.
package rules

import (
	"net/netip"
	"slices"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	"k8s.io/apimachinery/pkg/labels"
)

// Snapshot contains the objects in the API server at one point in time.
type Snapshot struct {
	Policies   []*networkingv1.NetworkPolicy
	Pods       []*corev1.Pod
	Namespaces []*corev1.Namespace
}

// Node is the node to which the rules apply.
type Node struct {
	Name     string
	PodRange netip.Prefix
}

// endpoint is a pod whose address differs from its node's address.
type endpoint struct {
	pod     *corev1.Pod
	address netip.Addr
}

// endpoints returns the pods to which policies apply: those that have an address, have not ended and do not use the host
// network. They are ordered by address.
func (s Snapshot) endpoints() []endpoint {
	var found []endpoint
	for _, pod := range s.Pods {
		address, err := netip.ParseAddr(pod.Status.PodIP)
		ended := pod.Status.Phase == corev1.PodSucceeded || pod.Status.Phase == corev1.PodFailed
		if err != nil || ended || pod.Spec.HostNetwork {
			continue
		}
		found = append(found, endpoint{pod, address})
	}
	slices.SortFunc(found, func(a, b endpoint) int { return a.address.Compare(b.address) })
	return found
}

// namespaceLabels returns the labels of each namespace by name.
func (s Snapshot) namespaceLabels() map[string]labels.Set {
	found := make(map[string]labels.Set, len(s.Namespaces))
	for _, namespace := range s.Namespaces {
		found[namespace.Name] = namespace.Labels
	}
	return found
}
