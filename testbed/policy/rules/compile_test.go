package rules

import (
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

const (
	ingress = networkingv1.PolicyTypeIngress
	egress  = networkingv1.PolicyTypeEgress
)

type (
	from       = networkingv1.NetworkPolicyIngressRule
	to         = networkingv1.NetworkPolicyEgressRule
	peer       = networkingv1.NetworkPolicyPeer
	policyPort = networkingv1.NetworkPolicyPort
)

func ingressPolicy(app string, rules ...from) *networkingv1.NetworkPolicy {
	result := policy(app, ingress)
	result.Spec.Ingress = rules
	return result
}

func egressPolicy(app string, rules ...to) *networkingv1.NetworkPolicy {
	result := policy(app, egress)
	result.Spec.Egress = rules
	return result
}

func TestVerdicts(t *testing.T) {
	end := int32(8090)
	portRange := port(corev1.ProtocolTCP, 8080)
	portRange.EndPort = &end
	inNamespace := func(name string) *metav1.LabelSelector {
		return &metav1.LabelSelector{MatchLabels: map[string]string{"name": name}}
	}
	cases := []struct {
		name     string
		policies []*networkingv1.NetworkPolicy
		packet   packet
		passes   bool
	}{
		{"all packets pass without a policy", nil, tcp(client, server, 8080), true},
		{"a policy without rules isolates the pods it selects",
			[]*networkingv1.NetworkPolicy{ingressPolicy("server")}, tcp(client, server, 8080), false},
		{"an ingress policy does not affect egress",
			[]*networkingv1.NetworkPolicy{ingressPolicy("server")}, tcp(server, client, 8080), true},
		{"a policy selects only pods in its own namespace",
			[]*networkingv1.NetworkPolicy{ingressPolicy("dns")}, udp(client, dns, 53), true},
		{"an isolated pod reaches itself",
			[]*networkingv1.NetworkPolicy{ingressPolicy("server"), egressPolicy("server")}, tcp(server, server, 8080), true},
		{"a rule without peers allows all addresses",
			[]*networkingv1.NetworkPolicy{ingressPolicy("server", from{})}, tcp(outside, server, 1), true},
		{"a pod selector allows a matching pod",
			[]*networkingv1.NetworkPolicy{ingressPolicy("server", from{From: []peer{podPeer("client")}})}, tcp(client, server, 1), true},
		{"a pod selector does not match pods in other namespaces",
			[]*networkingv1.NetworkPolicy{ingressPolicy("server", from{From: []peer{podPeer("dns")}})}, tcp(dns, server, 1), false},
		{"a namespace selector allows the pods in a namespace",
			[]*networkingv1.NetworkPolicy{ingressPolicy("server", from{From: []peer{{NamespaceSelector: inNamespace("kube-system")}}})},
			tcp(dns, server, 1), true},
		{"the namespace selector and the pod selector must both match",
			[]*networkingv1.NetworkPolicy{ingressPolicy("server", from{From: []peer{
				{NamespaceSelector: inNamespace("kube-system"), PodSelector: byApp("client")}}})},
			tcp(client, server, 1), false},
		{"policies are additive",
			[]*networkingv1.NetworkPolicy{ingressPolicy("server"), ingressPolicy("server", from{From: []peer{podPeer("client")}})},
			tcp(client, server, 1), true},
		{"both egress and ingress policies must allow a packet",
			[]*networkingv1.NetworkPolicy{ingressPolicy("server", from{}), egressPolicy("client")}, tcp(client, server, 1), false},
		{"a numeric port allows its port",
			[]*networkingv1.NetworkPolicy{ingressPolicy("server", from{Ports: []policyPort{port(corev1.ProtocolTCP, 8080)}})},
			tcp(client, server, 8080), true},
		{"a port applies only to its protocol",
			[]*networkingv1.NetworkPolicy{ingressPolicy("server", from{Ports: []policyPort{port(corev1.ProtocolTCP, 8080)}})},
			udp(client, server, 8080), false},
		{"a range includes its last port",
			[]*networkingv1.NetworkPolicy{ingressPolicy("server", from{Ports: []policyPort{portRange}})}, tcp(client, server, 8090), true},
		{"a range excludes the next port",
			[]*networkingv1.NetworkPolicy{ingressPolicy("server", from{Ports: []policyPort{portRange}})}, tcp(client, server, 8091), false},
		{"a named port resolves to the receiver's port",
			[]*networkingv1.NetworkPolicy{ingressPolicy("server", from{Ports: []policyPort{port(corev1.ProtocolTCP, "web")}})},
			tcp(client, server, 8080), true},
		{"a named port does not allow other ports",
			[]*networkingv1.NetworkPolicy{ingressPolicy("server", from{Ports: []policyPort{port(corev1.ProtocolTCP, "web")}})},
			tcp(client, server, 8081), false},
		{"a named port in an egress policy resolves to the receiver's port",
			[]*networkingv1.NetworkPolicy{egressPolicy("client", to{
				To: []peer{podPeer("server")}, Ports: []policyPort{port(corev1.ProtocolTCP, "web")}})},
			tcp(client, server, 8080), true},
		{"an egress policy blocks DNS",
			[]*networkingv1.NetworkPolicy{egressPolicy("client", to{To: []peer{podPeer("server")}})}, udp(client, dns, 53), false},
		{"an egress policy can allow DNS by namespace",
			[]*networkingv1.NetworkPolicy{egressPolicy("client", to{
				To: []peer{{NamespaceSelector: inNamespace("kube-system")}}, Ports: []policyPort{port(corev1.ProtocolUDP, 53)}})},
			udp(client, dns, 53), true},
		{"an address block allows its addresses",
			[]*networkingv1.NetworkPolicy{egressPolicy("client", to{To: []peer{blockPeer("192.0.2.0/24")}})}, tcp(client, outside, 1), true},
		{"an address block does not allow its exceptions",
			[]*networkingv1.NetworkPolicy{egressPolicy("client", to{To: []peer{blockPeer("192.0.2.0/24", "192.0.2.8/30")}})},
			tcp(client, outside, 1), false},
		{"an exception applies only to its own block",
			[]*networkingv1.NetworkPolicy{egressPolicy("client", to{To: []peer{
				blockPeer("192.0.2.0/24", "192.0.2.8/30"), blockPeer("192.0.2.8/29")}})},
			tcp(client, outside, 1), true},
		{"the block 0.0.0.0/0 allows every address",
			[]*networkingv1.NetworkPolicy{egressPolicy("client", to{To: []peer{blockPeer("0.0.0.0/0")}})}, tcp(client, outside, 1), true},
		{"an unknown pod is isolated while policies exist",
			[]*networkingv1.NetworkPolicy{ingressPolicy("unused")}, tcp("10.232.1.77", server, 8080), false},
		{"an unknown pod is not isolated without policies", nil, tcp("10.232.1.77", server, 8080), true},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			if got := passes(t, testSnapshot(c.policies...), c.packet); got != c.passes {
				t.Errorf("%+v passes: %v, want %v", c.packet, got, c.passes)
			}
		})
	}
}

func TestUnsupportedFieldsAreReported(t *testing.T) {
	cases := []struct {
		name   string
		policy *networkingv1.NetworkPolicy
		want   string
	}{
		{"SCTP", ingressPolicy("server", from{Ports: []policyPort{port(corev1.ProtocolSCTP, 5)}}), "ingress[0]: ports[0].protocol: SCTP"},
		{"a named port without peers", egressPolicy("client", to{Ports: []policyPort{port(corev1.ProtocolTCP, "web")}}), "egress[0]: ports[0].port"},
		{"IPv6", egressPolicy("client", to{To: []peer{blockPeer("2001:db8::/32")}}), "egress[0]: peer 0: ipBlock: 2001:db8::/32"},
		{"no policy types", policy("server"), "policyTypes"},
		{"an empty peer", ingressPolicy("server", from{From: []peer{{}}}), "ingress[0]: peer 0"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			// The policy does not select any pod on this node, but is still checked.
			_, err := Compile(testSnapshot(c.policy), Node{Name: "node-3", PodRange: nodeTwo.PodRange})
			if err == nil || !strings.Contains(err.Error(), "run/for-") || !strings.Contains(err.Error(), c.want) {
				t.Errorf("error %v does not contain the policy and %q", err, c.want)
			}
		})
	}
}

func TestHostNetworkAndEndedPodsAreNotSelected(t *testing.T) {
	snapshot := testSnapshot(ingressPolicy("server"))
	snapshot.Pods[1].Spec.HostNetwork = true
	snapshot.Pods[0].Status.Phase = corev1.PodSucceeded
	for _, node := range []Node{nodeOne, nodeTwo} {
		ruleset, err := Compile(snapshot, node)
		if err != nil {
			t.Fatal(err)
		}
		if len(ruleset.Isolated) != 0 {
			t.Errorf("%s isolates %v", node.Name, ruleset.Isolated)
		}
	}
}
