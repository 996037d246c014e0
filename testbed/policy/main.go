// Policy enforces NetworkPolicies in one node of the testbed, whose bridge plugin does not: it watches policies, pods and
// namespaces, turns them into iptables rules and ipsets (package rules, without I/O), and applies those in the network
// namespace that it runs in. A policy that uses anything it does not implement ends it with an error that names policy and
// field: a test must not pass because a rule was not understood. The rules in place stay then.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"log/slog"
	"net/netip"
	"os"
	"os/signal"
	"syscall"
	"time"

	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/tools/clientcmd"

	"fabricbench.dev/testbed/policy/rules"
)

// settle is how long a burst of changes may go on before it is acted upon, together.
const settle = 20 * time.Millisecond

func main() {
	kubeconfig := flag.String("kubeconfig", "", "file with the API server's address and credentials")
	node := flag.String("node", "", "the node whose namespace this runs in")
	podRange := flag.String("pod-range", "", "the addresses of the node's pods, such as 10.232.1.0/24")
	enforced := flag.String("enforced", "", "a file that is made when the rules of what was there are in place")
	flag.Parse()

	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, syscall.SIGINT)
	defer stop()
	if err := run(ctx, *kubeconfig, *node, *podRange, *enforced); err != nil && !errors.Is(err, context.Canceled) {
		fmt.Fprintln(os.Stderr, "policy:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, kubeconfig, node, podRange, enforced string) error {
	addresses, err := netip.ParsePrefix(podRange)
	if err != nil {
		return fmt.Errorf("-pod-range: %w", err)
	}
	if node == "" {
		return errors.New("-node is missing")
	}
	config, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	if err != nil {
		return fmt.Errorf("-kubeconfig: %w", err)
	}
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return err
	}
	watched, err := watch(ctx, client)
	if err != nil {
		return err
	}
	return enforce(ctx, watched, rules.Node{Name: node, PodRange: addresses}, enforced)
}

// watched is what the API server holds, kept current, and a signal that it has changed.
type watched struct {
	informers informers.SharedInformerFactory
	changed   chan struct{}
}

func watch(ctx context.Context, client kubernetes.Interface) (*watched, error) {
	w := &watched{informers.NewSharedInformerFactory(client, 0), make(chan struct{}, 1)}
	for _, informer := range []cache.SharedIndexInformer{
		w.informers.Core().V1().Pods().Informer(),
		w.informers.Core().V1().Namespaces().Informer(),
		w.informers.Networking().V1().NetworkPolicies().Informer(),
	} {
		if _, err := informer.AddEventHandler(cache.ResourceEventHandlerFuncs{
			AddFunc:    func(any) { w.signal() },
			UpdateFunc: func(any, any) { w.signal() },
			DeleteFunc: func(any) { w.signal() },
		}); err != nil {
			return nil, err
		}
	}
	w.informers.Start(ctx.Done())
	for kind, synced := range w.informers.WaitForCacheSync(ctx.Done()) {
		if !synced {
			return nil, fmt.Errorf("%v could not be listed: %w", kind, ctx.Err())
		}
	}
	w.signal()
	return w, nil
}

func (w *watched) signal() {
	select {
	case w.changed <- struct{}{}:
	default:
	}
}

func (w *watched) snapshot() (rules.Snapshot, error) {
	pods, podsErr := w.informers.Core().V1().Pods().Lister().List(labels.Everything())
	namespaces, namespacesErr := w.informers.Core().V1().Namespaces().Lister().List(labels.Everything())
	policies, policiesErr := w.informers.Networking().V1().NetworkPolicies().Lister().List(labels.Everything())
	return rules.Snapshot{Pods: pods, Namespaces: namespaces, Policies: policies},
		errors.Join(podsErr, namespacesErr, policiesErr)
}

// enforce applies what follows from each change, until ctx ends or something is not understood. It makes the file enforced
// when it has done so for the first time.
func enforce(ctx context.Context, w *watched, node rules.Node, enforced string) error {
	kernel := kernel{}
	for {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-w.changed:
		}
		time.Sleep(settle)
		snapshot, err := w.snapshot()
		if err != nil {
			return err
		}
		ruleset, err := rules.Compile(snapshot, node)
		if err != nil {
			return err
		}
		changed, err := kernel.apply(ctx, ruleset)
		if err != nil {
			return err
		}
		if enforced != "" {
			if err := os.WriteFile(enforced, nil, 0o600); err != nil {
				return err
			}
			enforced = ""
		}
		if changed {
			slog.Info("enforcing", "policies", len(snapshot.Policies), "isolated", len(ruleset.Isolated), "sets", len(ruleset.Sets))
		}
	}
}
