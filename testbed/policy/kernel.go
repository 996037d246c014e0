package main

import (
	"bytes"
	"context"
	"fmt"
	"os/exec"
	"strings"

	"fabricbench.dev/testbed/policy/rules"
)

// kernel is the packet filter in this process's network namespace.
type kernel struct {
	// applied contains the current rules. Most pod changes do not affect the rules, and unchanged rules are not applied
	// again.
	applied string
}

// apply atomically replaces the previous ruleset and reports whether anything changed. Sets are named after their
// contents, so a set that a rule uses is never modified; unused sets are destroyed last.
func (k *kernel) apply(ctx context.Context, ruleset rules.Ruleset) (bool, error) {
	text := ruleset.Sets.Restore() + ruleset.Tables(nil)
	if text == k.applied {
		return false, nil
	}
	if _, err := command(ctx, ruleset.Sets.Restore(), "ipset", "restore", "-exist"); err != nil {
		return false, err
	}
	saved, err := command(ctx, "", "iptables-save", "-t", rules.Table)
	if err != nil {
		return false, err
	}
	if _, err := command(ctx, ruleset.Tables(rules.Chains(saved)), "iptables-restore", "--noflush", "--wait", "10"); err != nil {
		return false, err
	}
	for hook, chain := range rules.Hooks {
		if err := ensureJump(ctx, hook, chain); err != nil {
			return false, err
		}
	}
	if err := destroyUnused(ctx, ruleset.Sets); err != nil {
		return false, err
	}
	k.applied = text
	return true, nil
}

func ensureJump(ctx context.Context, hook, chain string) error {
	if _, err := command(ctx, "", "iptables", "--wait", "10", "-t", rules.Table, "-C", hook, "-j", chain); err == nil {
		return nil
	}
	_, err := command(ctx, "", "iptables", "--wait", "10", "-t", rules.Table, "-A", hook, "-j", chain)
	return err
}

func destroyUnused(ctx context.Context, used rules.Sets) error {
	names, err := command(ctx, "", "ipset", "list", "-name")
	if err != nil {
		return err
	}
	for _, name := range strings.Fields(names) {
		if _, inUse := used[name]; inUse || !strings.HasPrefix(name, rules.SetPrefix) {
			continue
		}
		if _, err := command(ctx, "", "ipset", "destroy", name); err != nil {
			return err
		}
	}
	return nil
}

// command runs a binary with the given standard input and returns its standard output.
func command(ctx context.Context, input, name string, args ...string) (string, error) {
	var output, errorOutput bytes.Buffer
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Stdin = strings.NewReader(input)
	cmd.Stdout = &output
	cmd.Stderr = &errorOutput
	if err := cmd.Run(); err != nil {
		return "", fmt.Errorf("%s %s: %w: %s", name, strings.Join(args, " "), err, strings.TrimSpace(errorOutput.String()))
	}
	return output.String(), nil
}
