package rules

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"strings"

	networkingv1 "k8s.io/api/networking/v1"
)

// SetPrefix is the prefix of all set names. The rest of a name is a digest of the set's contents, so sets are replaced
// and never modified.
const SetPrefix = "fbt-"

// Sets maps names to sets of addresses. An entry is an address, a range, or "RANGE nomatch" for an exception.
type Sets map[string][]string

func (s Sets) add(entries []string) string {
	slices.Sort(entries)
	entries = slices.Compact(entries)
	digest := sha256.Sum256([]byte(strings.Join(entries, "\n")))
	// ipset limits names to 31 characters.
	name := SetPrefix + hex.EncodeToString(digest[:12])
	s[name] = entries
	return name
}

func (s Sets) addPods(pods []endpoint) string {
	entries := make([]string, 0, len(pods))
	for _, pod := range pods {
		entries = append(entries, pod.address.String())
	}
	return s.add(entries)
}

// addBlock adds a separate set for an address block, so that the exceptions of one block do not apply to another.
func (s Sets) addBlock(block *networkingv1.IPBlock) (string, error) {
	entries, err := ranges(block.CIDR, "")
	if err != nil {
		return "", err
	}
	for _, except := range block.Except {
		excepted, err := ranges(except, " nomatch")
		if err != nil {
			return "", err
		}
		entries = append(entries, excepted...)
	}
	return s.add(entries), nil
}

// ranges formats a range for ipset. ipset does not support a prefix length of 0, so that range is split into two halves.
func ranges(cidr, suffix string) ([]string, error) {
	prefix, err := netip.ParsePrefix(cidr)
	if err != nil {
		return nil, err
	}
	if !prefix.Addr().Is4() {
		return nil, fmt.Errorf("%s: IPv6: %w", cidr, errNotImplemented)
	}
	if prefix.Bits() == 0 {
		return []string{"0.0.0.0/1" + suffix, "128.0.0.0/1" + suffix}, nil
	}
	return []string{prefix.Masked().String() + suffix}, nil
}

// Restore returns the input for `ipset restore`.
func (s Sets) Restore() string {
	var text strings.Builder
	for _, name := range slices.Sorted(maps.Keys(s)) {
		fmt.Fprintf(&text, "create %s hash:net\n", name)
		for _, entry := range s[name] {
			fmt.Fprintf(&text, "add %s %s\n", name, entry)
		}
	}
	return text.String()
}
