package rules

import (
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strings"

	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
)

// Direction is the direction of a pod's traffic to which a rule applies.
type Direction string

// The two directions. Their values are the names of the corresponding policy fields.
const (
	Ingress Direction = "ingress"
	Egress  Direction = "egress"
)

// Match is a condition under which a packet is allowed. An empty field matches any value.
type Match struct {
	// Set is the name of the set that must contain the address of the other end.
	Set string
	// Protocol is tcp or udp.
	Protocol string
	// Ports is a port number or a range such as 8000:8010.
	Ports string
}

// Isolated is a pod that at least one policy selects for a direction. In this direction, only packets that match an entry
// of Allowed pass.
type Isolated struct {
	Address   netip.Addr
	Direction Direction
	Allowed   []Match
}

// Ruleset contains all rules that one node enforces.
type Ruleset struct {
	Node     Node
	Sets     Sets
	Isolated []Isolated
	// KnownSet is the name of the set that contains the addresses of the node's pods, or empty if the node has no pods or no
	// policy exists. While any policy exists, other addresses in the node's pod range are blocked, so that a new pod is
	// isolated even before it is observed.
	KnownSet string
	// Active reports whether any policy exists.
	Active bool
}

// compiler holds the inputs of all rules of a snapshot and collects the sets.
type compiler struct {
	endpoints  []endpoint
	namespaces map[string]labels.Set
	sets       Sets
}

// Compile returns the rules for one node. Its error identifies the policy and the field that is not supported.
func Compile(snapshot Snapshot, node Node) (Ruleset, error) {
	c := compiler{snapshot.endpoints(), snapshot.namespaceLabels(), Sets{}}
	ruleset := Ruleset{Node: node, Active: len(snapshot.Policies) > 0}
	policies := slices.SortedFunc(slices.Values(snapshot.Policies), func(a, b *networkingv1.NetworkPolicy) int {
		return strings.Compare(a.Namespace+"/"+a.Name, b.Namespace+"/"+b.Name)
	})
	// Policies that select no pod on this node are checked as well, so that an unsupported policy is reported immediately
	// and not when a pod is created on the node.
	for _, policy := range policies {
		if err := errors.Join(check(policy), c.checkPeers(policy)); err != nil {
			return Ruleset{}, fmt.Errorf("NetworkPolicy %s/%s: %w", policy.Namespace, policy.Name, err)
		}
	}
	var known []endpoint
	for _, pod := range c.endpoints {
		if pod.pod.Spec.NodeName != node.Name {
			continue
		}
		known = append(known, pod)
		for _, direction := range []Direction{Ingress, Egress} {
			isolated, err := c.isolate(pod, direction, policies)
			if err != nil {
				return Ruleset{}, err
			}
			if isolated != nil {
				ruleset.Isolated = append(ruleset.Isolated, *isolated)
			}
		}
	}
	if ruleset.Active && len(known) > 0 {
		ruleset.KnownSet = c.sets.addPods(known)
	}
	ruleset.Sets = c.sets
	return ruleset, nil
}

// checkPeers checks the selectors and address blocks of a policy.
func (c *compiler) checkPeers(policy *networkingv1.NetworkPolicy) error {
	if _, err := metav1.LabelSelectorAsSelector(&policy.Spec.PodSelector); err != nil {
		return fmt.Errorf("podSelector: %w", err)
	}
	scratch := compiler{c.endpoints, c.namespaces, Sets{}}
	for _, direction := range []Direction{Ingress, Egress} {
		for index, rule := range policyRules(policy, direction) {
			if _, _, err := scratch.peers(policy.Namespace, rule); err != nil {
				return fmt.Errorf("%s[%d]: %w", direction, index, err)
			}
		}
	}
	return nil
}

// isolate combines all policies that select the pod for a direction. It returns nil if there are no such policies.
func (c *compiler) isolate(pod endpoint, direction Direction, policies []*networkingv1.NetworkPolicy) (*Isolated, error) {
	var isolated *Isolated
	for _, policy := range policies {
		selected, err := selects(policy, pod, direction)
		if err != nil {
			return nil, fmt.Errorf("NetworkPolicy %s/%s: %w", policy.Namespace, policy.Name, err)
		}
		if !selected {
			continue
		}
		if isolated == nil {
			isolated = &Isolated{Address: pod.address, Direction: direction}
		}
		for index, rule := range policyRules(policy, direction) {
			matches, err := c.matches(policy.Namespace, pod, direction, rule)
			if err != nil {
				return nil, fmt.Errorf("NetworkPolicy %s/%s: %s[%d]: %w", policy.Namespace, policy.Name, direction, index, err)
			}
			isolated.Allowed = append(isolated.Allowed, matches...)
		}
	}
	if isolated != nil {
		slices.SortFunc(isolated.Allowed, func(a, b Match) int {
			return strings.Compare(a.Set+" "+a.Protocol+" "+a.Ports, b.Set+" "+b.Protocol+" "+b.Ports)
		})
		isolated.Allowed = slices.Compact(isolated.Allowed)
	}
	return isolated, nil
}

func selects(policy *networkingv1.NetworkPolicy, pod endpoint, direction Direction) (bool, error) {
	if policy.Namespace != pod.pod.Namespace || !slices.ContainsFunc(policy.Spec.PolicyTypes, direction.is) {
		return false, nil
	}
	selector, err := metav1.LabelSelectorAsSelector(&policy.Spec.PodSelector)
	if err != nil {
		return false, fmt.Errorf("podSelector: %w", err)
	}
	return selector.Matches(labels.Set(pod.pod.Labels)), nil
}

func (d Direction) is(kind networkingv1.PolicyType) bool {
	return strings.EqualFold(string(kind), string(d))
}

// rule is an ingress or egress rule: the allowed peers and ports.
type rule struct {
	peers []networkingv1.NetworkPolicyPeer
	ports []networkingv1.NetworkPolicyPort
}

func policyRules(policy *networkingv1.NetworkPolicy, direction Direction) []rule {
	var found []rule
	if direction == Ingress {
		for _, ingress := range policy.Spec.Ingress {
			found = append(found, rule{ingress.From, ingress.Ports})
		}
		return found
	}
	for _, egress := range policy.Spec.Egress {
		found = append(found, rule{egress.To, egress.Ports})
	}
	return found
}
