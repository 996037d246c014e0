// Package rules turns NetworkPolicies, pods and namespaces into the packet filter's rules for one node. It does no I/O.
package rules

import (
	"net/netip"
	"slices"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	"k8s.io/apimachinery/pkg/labels"
)

// Snapshot is what the API server holds at one moment.
type Snapshot struct {
	Policies   []*networkingv1.NetworkPolicy
	Pods       []*corev1.Pod
	Namespaces []*corev1.Namespace
}

// Node is the node whose rules are wanted.
type Node struct {
	Name     string
	PodRange netip.Prefix
}

// endpoint is a pod that has an address of its own.
type endpoint struct {
	pod     *corev1.Pod
	address netip.Addr
}

// endpoints are the pods that policies speak of: running or about to, and not on the node's own network, in a fixed order.
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

// namespaceLabels gives each namespace's labels by its name.
func (s Snapshot) namespaceLabels() map[string]labels.Set {
	found := make(map[string]labels.Set, len(s.Namespaces))
	for _, namespace := range s.Namespaces {
		found[namespace.Name] = namespace.Labels
	}
	return found
}
