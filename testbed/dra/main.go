// Command dra is a driver of Dynamic Resource Allocation for one node of the testbed. It publishes simulated GPUs and NICs
// as the drivers gpu.nvidia.com and dra.net would, and accepts every claim that the scheduler allocates. Containers get no
// access to a device, because none exists.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"log"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"

	resource "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/dynamic-resource-allocation/kubeletplugin"
	"k8s.io/dynamic-resource-allocation/resourceslice"
)

func main() {
	node := flag.String("node", "", "name of the node")
	kubeconfig := flag.String("kubeconfig", "", "kubeconfig of the node's kubelet")
	kubelet := flag.String("kubelet-dir", "", "root directory of the node's kubelet")
	shapeName := flag.String("shape", "p5", "devices of the node: p5 or gb300")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, *node, *kubeconfig, *kubelet, *shapeName); err != nil {
		log.Fatal(err)
	}
}

// run registers one plugin for each driver, and serves them until ctx ends.
func run(ctx context.Context, node, kubeconfig, kubelet, shapeName string) error {
	shape, ok := shapes[shapeName]
	if !ok {
		return fmt.Errorf("-shape: %q is unknown; use p5 or gb300", shapeName)
	}
	config, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	if err != nil {
		return fmt.Errorf("-kubeconfig: %w", err)
	}
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return fmt.Errorf("-kubeconfig: %w", err)
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	for driver, devices := range shape.devices() {
		data := filepath.Join(kubelet, "plugins", driver)
		if err := os.MkdirAll(data, 0o700); err != nil {
			return err
		}
		helper, err := kubeletplugin.Start(ctx, &plugin{driver: driver, cancel: cancel},
			kubeletplugin.DriverName(driver),
			kubeletplugin.NodeName(node),
			kubeletplugin.KubeClient(client),
			kubeletplugin.RegistrarDirectoryPath(filepath.Join(kubelet, "plugins_registry")),
			kubeletplugin.PluginDataDirectoryPath(data))
		if err != nil {
			return fmt.Errorf("starting %s: %w", driver, err)
		}
		defer helper.Stop()
		pool := resourceslice.Pool{Slices: []resourceslice.Slice{{Devices: devices}}}
		resources := resourceslice.DriverResources{Pools: map[string]resourceslice.Pool{node: pool}}
		if err := helper.PublishResources(ctx, resources); err != nil {
			return fmt.Errorf("publishing the devices of %s: %w", driver, err)
		}
		log.Printf("%s: %d devices on %s", driver, len(devices), node)
	}
	<-ctx.Done()
	if cause := context.Cause(ctx); !errors.Is(cause, context.Canceled) {
		return cause
	}
	return nil
}

// plugin serves the claims of one driver.
type plugin struct {
	driver string
	cancel context.CancelCauseFunc
}

// PrepareResourceClaims lists the allocated devices of the driver, without a CDI device: there is nothing to add to the
// containers.
func (p *plugin) PrepareResourceClaims(_ context.Context, claims []*resource.ResourceClaim) (map[types.UID]kubeletplugin.PrepareResult, error) {
	prepared := make(map[types.UID]kubeletplugin.PrepareResult, len(claims))
	for _, claim := range claims {
		var result kubeletplugin.PrepareResult
		for _, allocated := range claim.Status.Allocation.Devices.Results {
			if allocated.Driver == p.driver {
				result.Devices = append(result.Devices, kubeletplugin.Device{
					Requests:   []string{allocated.Request},
					PoolName:   allocated.Pool,
					DeviceName: allocated.Device,
				})
			}
		}
		prepared[claim.UID] = result
		log.Printf("%s: prepared %d devices of claim %s/%s", p.driver, len(result.Devices), claim.Namespace, claim.Name)
	}
	return prepared, nil
}

// UnprepareResourceClaims has nothing to undo.
func (p *plugin) UnprepareResourceClaims(_ context.Context, claims []kubeletplugin.NamespacedObject) (map[types.UID]error, error) {
	undone := make(map[types.UID]error, len(claims))
	for _, claim := range claims {
		undone[claim.UID] = nil
	}
	return undone, nil
}

// HandleError ends the driver if the error does not resolve by itself.
func (p *plugin) HandleError(_ context.Context, err error, message string) {
	log.Printf("%s: %s: %v", p.driver, message, err)
	if !errors.Is(err, kubeletplugin.ErrRecoverable) {
		p.cancel(fmt.Errorf("%s: %s: %w", p.driver, message, err))
	}
}
