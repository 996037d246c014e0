// Policy enforces NetworkPolicies on one testbed node, because the bridge plugin does not. It watches policies, pods
// and namespaces, compiles them to iptables rules and ipsets (package rules), and applies the result in its network
// namespace. If a policy uses an unsupported feature, the process exits with an error that identifies the policy and
// the field, so that no test passes because a rule was ignored. The current rules remain applied.
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

// debounce is the period for which changes are collected before they are applied together.
const debounce = 20 * time.Millisecond

func main() {
	kubeconfig := flag.String("kubeconfig", "", "kubeconfig `file` with the API server's address and credentials")
	node := flag.String("node", "", "`name` of the node whose network namespace this process runs in")
	podRange := flag.String("pod-range", "", "address `range` of the node's pods, such as 10.232.1.0/24")
	readyFile := flag.String("ready-file", "", "`file` to create when the rules of the initial policies are in place")
	flag.Parse()

	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, syscall.SIGINT)
	defer stop()
	if err := run(ctx, *kubeconfig, *node, *podRange, *readyFile); err != nil && !errors.Is(err, context.Canceled) {
		fmt.Fprintln(os.Stderr, "policy:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, kubeconfig, node, podRange, readyFile string) error {
	addresses, err := netip.ParsePrefix(podRange)
	if err != nil {
		return fmt.Errorf("-pod-range: %w", err)
	}
	if node == "" {
		return errors.New("-node is required")
	}
	config, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	if err != nil {
		return fmt.Errorf("-kubeconfig: %w", err)
	}
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return err
	}
	watcher, err := watch(ctx, client)
	if err != nil {
		return err
	}
	return enforce(ctx, watcher, rules.Node{Name: node, PodRange: addresses}, readyFile)
}

// watcher caches objects from the API server and signals changes.
type watcher struct {
	informers informers.SharedInformerFactory
	changed   chan struct{}
}

func watch(ctx context.Context, client kubernetes.Interface) (*watcher, error) {
	w := &watcher{informers.NewSharedInformerFactory(client, 0), make(chan struct{}, 1)}
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
			return nil, fmt.Errorf("failed to list %v: %w", kind, ctx.Err())
		}
	}
	w.signal()
	return w, nil
}

func (w *watcher) signal() {
	select {
	case w.changed <- struct{}{}:
	default:
	}
}

func (w *watcher) snapshot() (rules.Snapshot, error) {
	pods, podsErr := w.informers.Core().V1().Pods().Lister().List(labels.Everything())
	namespaces, namespacesErr := w.informers.Core().V1().Namespaces().Lister().List(labels.Everything())
	policies, policiesErr := w.informers.Networking().V1().NetworkPolicies().Lister().List(labels.Everything())
	return rules.Snapshot{Pods: pods, Namespaces: namespaces, Policies: policies},
		errors.Join(podsErr, namespacesErr, policiesErr)
}

// enforce applies the rules after each change, until ctx is done or a policy is not supported. It creates readyFile
// after applying the rules for the first time.
func enforce(ctx context.Context, w *watcher, node rules.Node, readyFile string) error {
	kernel := kernel{}
	for {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-w.changed:
		}
		time.Sleep(debounce)
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
		if readyFile != "" {
			if err := os.WriteFile(readyFile, nil, 0o600); err != nil {
				return err
			}
			readyFile = ""
		}
		if changed {
			slog.Info("enforcing", "policies", len(snapshot.Policies), "isolated", len(ruleset.Isolated), "sets", len(ruleset.Sets))
		}
	}
}
