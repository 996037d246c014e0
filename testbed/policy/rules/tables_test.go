package rules

import (
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
)

func compiled(t *testing.T) Ruleset {
	t.Helper()
	ruleset, err := Compile(testSnapshot(ingressPolicy("server", from{
		From: []peer{podPeer("client"), blockPeer("0.0.0.0/0", "192.0.2.0/24")}, Ports: []policyPort{port(corev1.ProtocolTCP, "web")},
	})), nodeTwo)
	if err != nil {
		t.Fatal(err)
	}
	return ruleset
}

func TestTablesWritesTheCurrentChainsAndDeletesStaleOnes(t *testing.T) {
	const want = `*mangle
:FBT-FORWARD - [0:0]
:FBT-INPUT - [0:0]
:FBT-I-10.232.2.5 - [0:0]
:FBT-E-10.232.2.9 - [0:0]
-A FBT-FORWARD -m conntrack --ctstate ESTABLISHED,RELATED -j RETURN
-A FBT-FORWARD -s 10.232.2.0/24 -m set ! --match-set KNOWN src -j DROP
-A FBT-INPUT -m conntrack --ctstate ESTABLISHED,RELATED -j RETURN
-A FBT-INPUT -s 10.232.2.0/24 -m set ! --match-set KNOWN src -j DROP
-A FBT-FORWARD -d 10.232.2.0/24 -m set ! --match-set KNOWN dst -j DROP
-A FBT-FORWARD -d 10.232.2.5 -j FBT-I-10.232.2.5
-A FBT-I-10.232.2.5 -s 10.232.2.5 -j RETURN
-A FBT-I-10.232.2.5 -m set --match-set CLIENT src -p tcp -m tcp --dport 8080 -j RETURN
-A FBT-I-10.232.2.5 -m set --match-set BLOCK src -p tcp -m tcp --dport 8080 -j RETURN
-A FBT-I-10.232.2.5 -j DROP
-X FBT-E-10.232.2.9
COMMIT
`
	ruleset := compiled(t)
	got := ruleset.Tables([]string{"FBT-FORWARD", "FBT-INPUT", "FBT-E-10.232.2.9"})
	if got := withReadableNames(ruleset, got); got != want {
		t.Errorf("got\n%swant\n%s", got, want)
	}
}

// withReadableNames replaces each set's name with a readable one.
func withReadableNames(ruleset Ruleset, text string) string {
	names := map[string]string{
		"10.232.1.5":            "CLIENT",
		"10.232.2.2 10.232.2.5": "KNOWN",
		"0.0.0.0/1 128.0.0.0/1 192.0.2.0/24 nomatch": "BLOCK",
	}
	for name, entries := range ruleset.Sets {
		text = strings.ReplaceAll(text, name, names[strings.Join(entries, " ")])
	}
	return text
}

func TestRestoreCreatesEverySetWithItsEntries(t *testing.T) {
	const want = `create BLOCK hash:net
add BLOCK 0.0.0.0/1
add BLOCK 128.0.0.0/1
add BLOCK 192.0.2.0/24 nomatch
create CLIENT hash:net
add CLIENT 10.232.1.5
create KNOWN hash:net
add KNOWN 10.232.2.2
add KNOWN 10.232.2.5
`
	ruleset := compiled(t)
	blocks := strings.SplitAfter(withReadableNames(ruleset, ruleset.Sets.Restore()), "create ")
	blocks = blocks[1:]
	slices.Sort(blocks)
	var got strings.Builder
	for _, block := range blocks {
		got.WriteString("create " + strings.TrimSuffix(block, "create "))
	}
	if got.String() != want {
		t.Errorf("got\n%swant\n%s", got.String(), want)
	}
}

func TestChainsParsesIptablesSave(t *testing.T) {
	saved := "*mangle\n:FORWARD ACCEPT [5:300]\n:FBT-FORWARD - [0:0]\n:FBT-I-10.232.1.5 - [0:0]\n-A FORWARD -j FBT-FORWARD\n"
	got := Chains(saved)
	if len(got) != 2 || got[0] != "FBT-FORWARD" || got[1] != "FBT-I-10.232.1.5" {
		t.Errorf("got %v", got)
	}
}
