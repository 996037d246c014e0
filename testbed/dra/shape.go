package main

import (
	"fmt"

	resource "k8s.io/api/resource/v1"
)

const (
	gpuDriver = "gpu.nvidia.com"
	nicDriver = "dra.net"
)

// shape describes the GPUs and NICs of a node. Each GPU is below a PCI root complex of its own, together with its NICs, and
// the GPUs are distributed evenly over two NUMA nodes.
type shape struct {
	product string
	gpus    int
	nics    int // for each GPU
	nicType string
}

var shapes = map[string]shape{
	"p5":    {product: "NVIDIA H100 80GB HBM3", gpus: 8, nics: 4, nicType: "efa"},
	"gb300": {product: "NVIDIA GB300", gpus: 4, nics: 2, nicType: "mlx5"},
}

// devices returns the devices of each driver, by its name.
func (s shape) devices() map[string][]resource.Device {
	all := make(map[string][]resource.Device)
	for gpu := range s.gpus {
		bus := 16 * (gpu + 1)
		root := fmt.Sprintf("pci0000:%02x", bus)
		numa := int64(gpu * 2 / s.gpus)
		all[gpuDriver] = append(all[gpuDriver], device(fmt.Sprintf("gpu-%d", gpu), root, numa, map[string]string{
			"type":        "gpu",
			"productName": s.product,
		}))
		for nic := range s.nics {
			number := gpu*s.nics + nic
			name := fmt.Sprintf("rdmap%ds%d", bus, 27+nic)
			if s.nicType == "mlx5" {
				name = fmt.Sprintf("mlx5_%d", number)
			}
			published := device(fmt.Sprintf("nic-%d", number), root, numa, map[string]string{
				"dra.net/rdmaDevice": name,
				"dra.net/pciAddress": fmt.Sprintf("0000:%02x:%02x.0", bus, 27+nic),
			})
			published.Attributes["dra.net/numaNode"] = resource.DeviceAttribute{IntValue: &numa}
			all[nicDriver] = append(all[nicDriver], published)
		}
	}
	return all
}

// device returns a device with the attributes that Kubernetes standardizes, and with those in text.
func device(name, root string, numa int64, text map[string]string) resource.Device {
	attributes := map[resource.QualifiedName]resource.DeviceAttribute{
		"resource.kubernetes.io/pcieRoot": {StringValue: &root},
		"resource.kubernetes.io/numaNode": {IntValue: &numa},
	}
	for key, value := range text {
		attributes[resource.QualifiedName(key)] = resource.DeviceAttribute{StringValue: &value}
	}
	return resource.Device{Name: name, Attributes: attributes}
}
