package rules

import (
	"fmt"
	"slices"
	"strings"
)

// Table is where the rules are. Not filter: there kube-proxy accepts packets in chains of its own, before or after ours.
const Table = "mangle"

const (
	chainPrefix  = "FBT-"
	chainForward = chainPrefix + "FORWARD"
	chainInput   = chainPrefix + "INPUT"
)

// Hooks are the kernel's chains that lead to ours. What the node itself sends (kubelet's probes) passes neither.
var Hooks = map[string]string{"FORWARD": chainForward, "INPUT": chainInput}

// Chains reads the names of our chains from the output of iptables-save.
func Chains(saved string) []string {
	var found []string
	for line := range strings.Lines(saved) {
		if name, isChain := strings.CutPrefix(line, ":"+chainPrefix); isChain {
			found = append(found, chainPrefix+strings.Fields(name)[0])
		}
	}
	return found
}

// Tables is the input of `iptables-restore --noflush`: it replaces all of our chains at once; existing are those in place.
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
	// With --noflush a chain that is declared is emptied, or made.
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

// writeBaseChains: a packet that is forwarded meets the sender's egress rules and then the receiver's ingress rules, as far
// as either is of this node; one to the node itself meets the sender's only. Services were translated before.
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

// unknown matches addresses, at one end, that no pod is known for.
func (r Ruleset) unknown(end string) string {
	if r.KnownSet == "" {
		return ""
	}
	return fmt.Sprintf(" -m set ! --match-set %s %s", r.KnownSet, end)
}

// chain is named by direction and address, which are unique: "FBT-E-10.232.1.5" is within the 28 characters allowed.
func (i Isolated) chain() string {
	return fmt.Sprintf("%s%s-%s", chainPrefix, strings.ToUpper(string(i.Direction[:1])), i.Address)
}

// write: what is allowed returns to the base chain, where the other end's rules follow; the rest is dropped. A pod always
// reaches itself.
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
