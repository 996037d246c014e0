package rules

import (
	"fmt"
	"slices"
	"strings"
)

// Table is the iptables table that contains the rules. The filter table is not used, because kube-proxy's chains may
// accept packets there before these rules.
const Table = "mangle"

const (
	chainPrefix  = "FBT-"
	chainForward = chainPrefix + "FORWARD"
	chainInput   = chainPrefix + "INPUT"
)

// Hooks maps iptables' built-in chains to the enforcer's chains, to which they jump. Packets that the node itself
// sends, such as the kubelet's probes, pass through neither of these built-in chains.
var Hooks = map[string]string{"FORWARD": chainForward, "INPUT": chainInput}

// Chains returns the names of the enforcer's chains in the output of iptables-save.
func Chains(saved string) []string {
	var found []string
	for line := range strings.Lines(saved) {
		if name, isChain := strings.CutPrefix(line, ":"+chainPrefix); isChain {
			found = append(found, chainPrefix+strings.Fields(name)[0])
		}
	}
	return found
}

// Tables returns the input for `iptables-restore --noflush` that atomically replaces all of the enforcer's chains.
// existing contains the names of the existing chains.
func (r Ruleset) Tables(existing []string) string {
	chains := []string{chainForward, chainInput}
	for _, isolated := range r.Isolated {
		chains = append(chains, isolated.chain())
	}
	var stale []string
	for _, chain := range existing {
		if !slices.Contains(chains, chain) {
			stale = append(stale, chain)
		}
	}
	var text strings.Builder
	fmt.Fprintf(&text, "*%s\n", Table)
	// With --noflush, declaring a chain creates it or empties it.
	for _, chain := range slices.Concat(chains, stale) {
		fmt.Fprintf(&text, ":%s - [0:0]\n", chain)
	}
	r.writeBaseChains(&text)
	for _, isolated := range r.Isolated {
		isolated.write(&text)
	}
	for _, chain := range stale {
		fmt.Fprintf(&text, "-X %s\n", chain)
	}
	text.WriteString("COMMIT\n")
	return text.String()
}

// writeBaseChains writes the chains that dispatch to the pod chains. A forwarded packet is subject to the sender's
// egress rules and then the receiver's ingress rules, if these pods are on this node. A packet to the node itself is
// subject only to the egress rules. Service addresses have already been translated.
func (r Ruleset) writeBaseChains(text *strings.Builder) {
	if !r.Active {
		return
	}
	for _, chain := range []string{chainForward, chainInput} {
		fmt.Fprintf(text, "-A %s -m conntrack --ctstate ESTABLISHED,RELATED -j RETURN\n", chain)
		fmt.Fprintf(text, "-A %s -s %s%s -j DROP\n", chain, r.Node.PodRange, r.unknown("src"))
	}
	fmt.Fprintf(text, "-A %s -d %s%s -j DROP\n", chainForward, r.Node.PodRange, r.unknown("dst"))
	for _, isolated := range r.Isolated {
		if isolated.Direction == Egress {
			fmt.Fprintf(text, "-A %s -s %s -j %s\n", chainForward, isolated.Address, isolated.chain())
			fmt.Fprintf(text, "-A %s -s %s -j %s\n", chainInput, isolated.Address, isolated.chain())
		}
	}
	for _, isolated := range r.Isolated {
		if isolated.Direction == Ingress {
			fmt.Fprintf(text, "-A %s -d %s -j %s\n", chainForward, isolated.Address, isolated.chain())
		}
	}
}

// unknown returns a condition that matches packets whose address at the given end does not belong to a known pod.
func (r Ruleset) unknown(end string) string {
	if r.KnownSet == "" {
		return ""
	}
	return fmt.Sprintf(" -m set ! --match-set %s %s", r.KnownSet, end)
}

// chain returns the name of the chain. The direction and the address make the name unique: "FBT-E-10.232.1.5", for
// example, is within iptables' limit of 28 characters.
func (i Isolated) chain() string {
	return fmt.Sprintf("%s%s-%s", chainPrefix, strings.ToUpper(string(i.Direction[:1])), i.Address)
}

// write writes the pod's chain. Allowed packets return to the base chain, where the rules of the other end follow; all
// others are dropped. A pod can always reach itself.
func (i Isolated) write(text *strings.Builder) {
	other, otherEnd := "-s", "src"
	if i.Direction == Egress {
		other, otherEnd = "-d", "dst"
	}
	chain := i.chain()
	fmt.Fprintf(text, "-A %s %s %s -j RETURN\n", chain, other, i.Address)
	for _, match := range i.Allowed {
		fmt.Fprintf(text, "-A %s%s -j RETURN\n", chain, match.text(otherEnd))
	}
	fmt.Fprintf(text, "-A %s -j DROP\n", chain)
}

func (m Match) text(end string) string {
	var text string
	if m.Set != "" {
		text += fmt.Sprintf(" -m set --match-set %s %s", m.Set, end)
	}
	if m.Protocol != "" {
		text += " -p " + m.Protocol
	}
	if m.Ports != "" {
		text += fmt.Sprintf(" -m %s --dport %s", m.Protocol, m.Ports)
	}
	return text
}
