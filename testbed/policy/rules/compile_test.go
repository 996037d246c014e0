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
	from = networkingv1.NetworkPolicyIngressRule
	to   = networkingv1.NetworkPolicyEgressRule
	peer = networkingv1.NetworkPolicyPeer
	gate = networkingv1.NetworkPolicyPort
)

func receives(app string, rules ...from) *networkingv1.NetworkPolicy {
	made := policy(app, ingress)
	made.Spec.Ingress = rules
	return made
}

func sends(app string, rules ...to) *networkingv1.NetworkPolicy {
	made := policy(app, egress)
	made.Spec.Egress = rules
	return made
}

func TestVerdicts(t *testing.T) {
	end := int32(8090)
	span := port(corev1.ProtocolTCP, 8080)
	span.EndPort = &end
	inNamespace := func(name string) *metav1.LabelSelector {
		return &metav1.LabelSelector{MatchLabels: map[string]string{"name": name}}
	}
	cases := []struct {
		name     string
		policies []*networkingv1.NetworkPolicy
		packet   packet
		passes   bool
	}{
		{"without a policy everything passes", nil, tcp(client, server, 8080), true},
		{"a policy with no rule cuts off what it selects",
			[]*networkingv1.NetworkPolicy{receives("server")}, tcp(client, server, 8080), false},
		{"in its own direction only",
			[]*networkingv1.NetworkPolicy{receives("server")}, tcp(server, client, 8080), true},
		{"and in its own namespace only",
			[]*networkingv1.NetworkPolicy{receives("dns")}, udp(client, dns, 53), true},
		{"a pod reaches itself in spite of it",
			[]*networkingv1.NetworkPolicy{receives("server"), sends("server")}, tcp(server, server, 8080), true},
		{"a rule without peers allows everyone",
			[]*networkingv1.NetworkPolicy{receives("server", from{})}, tcp(outside, server, 1), true},
		{"a pod that is chosen may",
			[]*networkingv1.NetworkPolicy{receives("server", from{From: []peer{podPeer("client")}})}, tcp(client, server, 1), true},
		{"a pod of another namespace is not chosen by its labels alone",
			[]*networkingv1.NetworkPolicy{receives("server", from{From: []peer{podPeer("dns")}})}, tcp(dns, server, 1), false},
		{"but by its namespace it is",
			[]*networkingv1.NetworkPolicy{receives("server", from{From: []peer{{NamespaceSelector: inNamespace("kube-system")}}})},
			tcp(dns, server, 1), true},
		{"namespace and pod selector must both hold",
			[]*networkingv1.NetworkPolicy{receives("server", from{From: []peer{
				{NamespaceSelector: inNamespace("kube-system"), PodSelector: byApp("client")}}})},
			tcp(client, server, 1), false},
		{"policies add up",
			[]*networkingv1.NetworkPolicy{receives("server"), receives("server", from{From: []peer{podPeer("client")}})},
			tcp(client, server, 1), true},
		{"both ends must allow",
			[]*networkingv1.NetworkPolicy{receives("server", from{}), sends("client")}, tcp(client, server, 1), false},
		{"a number",
			[]*networkingv1.NetworkPolicy{receives("server", from{Ports: []gate{port(corev1.ProtocolTCP, 8080)}})},
			tcp(client, server, 8080), true},
		{"is of one protocol",
			[]*networkingv1.NetworkPolicy{receives("server", from{Ports: []gate{port(corev1.ProtocolTCP, 8080)}})},
			udp(client, server, 8080), false},
		{"a range has its last port",
			[]*networkingv1.NetworkPolicy{receives("server", from{Ports: []gate{span}})}, tcp(client, server, 8090), true},
		{"and ends there",
			[]*networkingv1.NetworkPolicy{receives("server", from{Ports: []gate{span}})}, tcp(client, server, 8091), false},
		{"a named port is the receiver's",
			[]*networkingv1.NetworkPolicy{receives("server", from{Ports: []gate{port(corev1.ProtocolTCP, "web")}})},
			tcp(client, server, 8080), true},
		{"and no other",
			[]*networkingv1.NetworkPolicy{receives("server", from{Ports: []gate{port(corev1.ProtocolTCP, "web")}})},
			tcp(client, server, 8081), false},
		{"also when the sender's policy names it",
			[]*networkingv1.NetworkPolicy{sends("client", to{
				To: []peer{podPeer("server")}, Ports: []gate{port(corev1.ProtocolTCP, "web")}})},
			tcp(client, server, 8080), true},
		{"DNS is sent like all else",
			[]*networkingv1.NetworkPolicy{sends("client", to{To: []peer{podPeer("server")}})}, udp(client, dns, 53), false},
		{"and allowed by name of its namespace",
			[]*networkingv1.NetworkPolicy{sends("client", to{
				To: []peer{{NamespaceSelector: inNamespace("kube-system")}}, Ports: []gate{port(corev1.ProtocolUDP, 53)}})},
			udp(client, dns, 53), true},
		{"a block of addresses",
			[]*networkingv1.NetworkPolicy{sends("client", to{To: []peer{blockPeer("192.0.2.0/24")}})}, tcp(client, outside, 1), true},
		{"without its exception",
			[]*networkingv1.NetworkPolicy{sends("client", to{To: []peer{blockPeer("192.0.2.0/24", "192.0.2.8/30")}})},
			tcp(client, outside, 1), false},
		{"an exception is of its own block only",
			[]*networkingv1.NetworkPolicy{sends("client", to{To: []peer{
				blockPeer("192.0.2.0/24", "192.0.2.8/30"), blockPeer("192.0.2.8/29")}})},
			tcp(client, outside, 1), true},
		{"all addresses",
			[]*networkingv1.NetworkPolicy{sends("client", to{To: []peer{blockPeer("0.0.0.0/0")}})}, tcp(client, outside, 1), true},
		{"a pod not seen yet is cut off while there are policies",
			[]*networkingv1.NetworkPolicy{receives("nobody")}, tcp("10.232.1.77", server, 8080), false},
		{"and passes while there are none", nil, tcp("10.232.1.77", server, 8080), true},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			if got := passes(t, world(c.policies...), c.packet); got != c.passes {
				t.Errorf("%+v passes: %v, want %v", c.packet, got, c.passes)
			}
		})
	}
}

func TestWhatIsNotImplementedIsNamed(t *testing.T) {
	cases := []struct {
		name   string
		policy *networkingv1.NetworkPolicy
		says   string
	}{
		{"SCTP", receives("server", from{Ports: []gate{port(corev1.ProtocolSCTP, 5)}}), "ingress[0]: ports[0].protocol: SCTP"},
		{"a named port for any address", sends("client", to{Ports: []gate{port(corev1.ProtocolTCP, "web")}}), "egress[0]: ports[0].port"},
		{"IPv6", sends("client", to{To: []peer{blockPeer("2001:db8::/32")}}), "egress[0]: peer 0: ipBlock: 2001:db8::/32"},
		{"no types", policy("server"), "policyTypes"},
		{"an empty peer", receives("server", from{From: []peer{{}}}), "ingress[0]: peer 0"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			// Of no pod on this node: it shows all the same.
			_, err := Compile(world(c.policy), Node{Name: "node-3", PodRange: nodeTwo.PodRange})
			if err == nil || !strings.Contains(err.Error(), "run/for-") || !strings.Contains(err.Error(), c.says) {
				t.Errorf("error %v does not name the policy and %q", err, c.says)
			}
		})
	}
}

func TestPodsOfTheNodesNetworkAndEndedOnesAreNotSelected(t *testing.T) {
	snapshot := world(receives("server"))
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
