package rules

import (
	"net/netip"
	"strconv"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
)

var (
	nodeOne = Node{"node-1", netip.MustParsePrefix("10.232.1.0/24")}
	nodeTwo = Node{"node-2", netip.MustParsePrefix("10.232.2.0/24")}
)

const (
	client  = "10.232.1.5" // run/client on node-1
	server  = "10.232.2.5" // run/server on node-2; its port "web" is 8080
	dns     = "10.232.2.2" // kube-system/dns on node-2
	outside = "192.0.2.9"
)

// testSnapshot contains a client and a server on different nodes in one namespace, and a DNS server in another.
func testSnapshot(policies ...*networkingv1.NetworkPolicy) Snapshot {
	web := corev1.ContainerPort{Name: "web", ContainerPort: 8080, Protocol: corev1.ProtocolTCP}
	return Snapshot{
		Policies: policies,
		Pods: []*corev1.Pod{
			pod("run", "client", client, "node-1"),
			pod("run", "server", server, "node-2", web),
			pod("kube-system", "dns", dns, "node-2"),
		},
		Namespaces: []*corev1.Namespace{namespace("run"), namespace("kube-system")},
	}
}

func pod(namespace, name, address, node string, ports ...corev1.ContainerPort) *corev1.Pod {
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name, Labels: map[string]string{"app": name}},
		Spec:       corev1.PodSpec{NodeName: node, Containers: []corev1.Container{{Ports: ports}}},
		Status:     corev1.PodStatus{Phase: corev1.PodRunning, PodIP: address},
	}
}

func namespace(name string) *corev1.Namespace {
	return &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{"name": name}}}
}

func policy(app string, types ...networkingv1.PolicyType) *networkingv1.NetworkPolicy {
	return &networkingv1.NetworkPolicy{
		ObjectMeta: metav1.ObjectMeta{Namespace: "run", Name: "for-" + app},
		Spec:       networkingv1.NetworkPolicySpec{PodSelector: *byApp(app), PolicyTypes: types},
	}
}

func byApp(app string) *metav1.LabelSelector {
	return &metav1.LabelSelector{MatchLabels: map[string]string{"app": app}}
}

func podPeer(app string) networkingv1.NetworkPolicyPeer {
	return networkingv1.NetworkPolicyPeer{PodSelector: byApp(app)}
}

func blockPeer(cidr string, except ...string) networkingv1.NetworkPolicyPeer {
	return networkingv1.NetworkPolicyPeer{IPBlock: &networkingv1.IPBlock{CIDR: cidr, Except: except}}
}

func port(protocol corev1.Protocol, value any) networkingv1.NetworkPolicyPort {
	var number intstr.IntOrString
	switch value := value.(type) {
	case int:
		number = intstr.FromInt32(int32(value))
	case string:
		number = intstr.FromString(value)
	}
	return networkingv1.NetworkPolicyPort{Protocol: &protocol, Port: &number}
}

// packet is the first packet of a connection.
type packet struct {
	from, to, protocol string
	port               int
}

func tcp(from, to string, port int) packet { return packet{from, to, "tcp", port} }
func udp(from, to string, port int) packet { return packet{from, to, "udp", port} }

// passes reports whether the rules of both nodes accept a forwarded packet, according to a simplified model of
// iptables.
func passes(t *testing.T, snapshot Snapshot, packet packet) bool {
	t.Helper()
	for _, node := range []Node{nodeOne, nodeTwo} {
		ruleset, err := Compile(snapshot, node)
		if err != nil {
			t.Fatal(err)
		}
		if !ruleset.accepts(packet) {
			return false
		}
	}
	return true
}

func (r Ruleset) accepts(packet packet) bool {
	for _, end := range []string{packet.from, packet.to} {
		if r.Active && r.Node.PodRange.Contains(netip.MustParseAddr(end)) && !r.Sets.contains(r.KnownSet, end) {
			return false
		}
	}
	for _, isolated := range r.Isolated {
		own, other := packet.to, packet.from
		if isolated.Direction == Egress {
			own, other = packet.from, packet.to
		}
		if isolated.Address.String() == own && own != other && !isolated.allows(r.Sets, other, packet) {
			return false
		}
	}
	return true
}

func (i Isolated) allows(sets Sets, other string, packet packet) bool {
	for _, match := range i.Allowed {
		inSet := match.Set == "" || sets.contains(match.Set, other)
		inProtocol := match.Protocol == "" || match.Protocol == packet.protocol
		if inSet && inProtocol && inPorts(match.Ports, packet.port) {
			return true
		}
	}
	return false
}

func inPorts(ports string, port int) bool {
	if ports == "" {
		return true
	}
	first, last, isRange := strings.Cut(ports, ":")
	if !isRange {
		last = first
	}
	low, _ := strconv.Atoi(first)
	high, _ := strconv.Atoi(last)
	return low <= port && port <= high
}

// contains reports whether a set contains an address. The entry with the longest prefix decides, just like in ipset's
// hash:net.
func (s Sets) contains(name, address string) bool {
	longest, verdict := -1, false
	for _, entry := range s[name] {
		text, nomatch := strings.CutSuffix(entry, " nomatch")
		if !strings.Contains(text, "/") {
			text += "/32"
		}
		prefix := netip.MustParsePrefix(text)
		if prefix.Contains(netip.MustParseAddr(address)) && prefix.Bits() > longest {
			longest, verdict = prefix.Bits(), !nomatch
		}
	}
	return verdict
}
