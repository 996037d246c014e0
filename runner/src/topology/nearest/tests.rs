//! Tests the device order on the machines in `fixtures/`.

use std::collections::BTreeSet;

use crds::record::Locality;
use proptest::prelude::*;

use super::super::fixture::machines::{FIXTURES, machine};
use super::*;
use crate::topology::locality;

/// Names of the first `rails` devices for the GPU with index `gpu`.
fn rails(name: &str, driver: &str, gpu: usize, rails: usize) -> Vec<String> {
    let machine = machine(name);
    let location = Location::Gpu(machine.gpus[gpu].pci.address().to_owned());
    let devices = nearest(&machine, &[driver], &location).into_iter().take(rails);
    devices.map(|device| device.name.clone()).collect()
}

/// Devices of every GPU in every fixture, with their positions, one line per GPU. Each GPU is listed with an equal
/// share of the devices, but at least one.
fn gpu_device_lines() -> String {
    let mut lines = Vec::new();
    for (name, _) in FIXTURES {
        let machine = machine(name);
        let drivers: BTreeSet<&str> = machine
            .devices
            .iter()
            .filter_map(|device| device.driver.as_deref())
            .filter(|driver| ["efa", "mlx5_core"].contains(driver))
            .collect();
        for driver in drivers {
            let count = machine
                .devices
                .iter()
                .filter(|device| device.driver.as_deref() == Some(driver));
            let rails = (count.count() / machine.gpus.len().max(1)).max(1);
            for (number, gpu) in machine.gpus.iter().enumerate() {
                let location = Location::Gpu(gpu.pci.address().to_owned());
                let devices: Vec<String> = nearest(&machine, &[driver], &location)
                    .into_iter()
                    .take(rails)
                    .map(|device| format!("{} ({})", device.name, locality(&machine, &location, device)))
                    .collect();
                let (address, devices) = (gpu.pci.address(), devices.join(", "));
                lines.push(format!("{name} GPU {number} {address} {driver}: {devices}\n"));
            }
        }
    }
    lines.concat()
}

#[test]
fn every_gpu_of_every_fixture_uses_the_expected_devices() {
    let expected = include_str!("../fixtures/expected-pairs.txt");
    assert_eq!(
        gpu_device_lines(),
        expected,
        "if the change is intended, replace fixtures/expected-pairs.txt"
    );
}

#[test]
fn each_gpu_of_a_p5_has_four_separate_devices() {
    let first = ["rdmap79s0", "rdmap80s0", "rdmap81s0", "rdmap82s0"];
    let chosen: BTreeSet<String> = rails("p5.48xlarge", "efa", 0, 4).into_iter().collect();
    assert_eq!(chosen, first.map(str::to_owned).into());
    let third = ["rdmap113s0", "rdmap114s0", "rdmap115s0", "rdmap116s0"];
    let chosen: BTreeSet<String> = rails("p5.48xlarge", "efa", 2, 4).into_iter().collect();
    assert_eq!(chosen, third.map(str::to_owned).into());
}

#[test]
fn two_gpus_behind_one_switch_start_with_different_devices() {
    assert_eq!(rails("p5en.48xlarge", "efa", 0, 2), ["rdmap86s0", "rdmap85s0"]);
    assert_eq!(rails("p5en.48xlarge", "efa", 1, 2), ["rdmap88s0", "rdmap87s0"]);
    assert_eq!(rails("p6-b200.48xlarge", "efa", 4, 1), ["rdmap113s0"]);
    assert_eq!(rails("p6-b200.48xlarge", "efa", 5, 1), ["rdmap114s0"]);
}

#[test]
fn two_gpus_share_a_device_if_only_one_is_near() {
    assert_eq!(rails("p4d.24xlarge", "efa", 2, 1), ["rdmap32s27"]);
    assert_eq!(rails("p4d.24xlarge", "efa", 3, 1), ["rdmap32s27"]);
    assert_eq!(rails("p5.4xlarge", "efa", 0, 1), ["rdmap79s0"]);
}

#[test]
fn every_gpu_uses_the_hca_of_its_switch() {
    for gpu in 0..8 {
        assert_eq!(
            rails("infiniband-8-hca", "mlx5_core", gpu, 1),
            [format!("mlx5_{gpu}")]
        );
    }
}

#[test]
fn devices_of_other_drivers_are_ignored() {
    let machine = machine("p6-b200.48xlarge");
    let efa = nearest(&machine, &["efa"], &Location::NumaNode(1));
    assert_eq!(efa.len(), 8);
    assert!(efa[..4].iter().all(|device| device.numa_node == Some(1)));
}

#[test]
fn devices_without_a_pci_path_are_sorted_by_name() {
    let machine = machine("soft-roce");
    for location in [Location::NumaNode(0), Location::Gpu("0000:53:00.0".into())] {
        let devices = nearest(&machine, &["rdma_rxe"], &location);
        let names: Vec<&str> = devices.iter().map(|device| device.name.as_str()).collect();
        assert_eq!(names, ["rxe0", "rxe1"]);
    }
}

/// Fixtures with GPUs, and the driver of each fixture's RDMA devices.
fn machines_with_gpus() -> impl Strategy<Value = (&'static str, &'static str)> {
    prop::sample::select(vec![
        ("p4d.24xlarge", "efa"),
        ("p5.4xlarge", "efa"),
        ("p5.48xlarge", "efa"),
        ("p5en.48xlarge", "efa"),
        ("p6-b200.48xlarge", "efa"),
        ("infiniband-8-hca", "mlx5_core"),
    ])
}

proptest! {
    #[test]
    fn no_device_is_chosen_before_a_nearer_one((name, driver) in machines_with_gpus(), gpu in 0usize..8) {
        let machine = machine(name);
        let gpu = &machine.gpus[gpu % machine.gpus.len()].pci;
        let chosen = nearest(&machine, &[driver], &Location::Gpu(gpu.address().to_owned()));
        let steps: Vec<usize> = chosen.iter().map(|device| hops(gpu, device)).collect();
        prop_assert!(steps.is_sorted(), "{steps:?}");
        prop_assert!(steps[0] < usize::MAX);
        // A device that is known to be on another NUMA node is used only after all other devices.
        let location = Location::Gpu(gpu.address().to_owned());
        let positions: Vec<Locality> = chosen.iter().map(|device| locality(&machine, &location, device)).collect();
        let fewest = positions.iter().filter(|position| **position != Locality::Remote).count();
        prop_assert!(positions[..fewest].iter().all(|position| *position != Locality::Remote), "{positions:?}");
        let all = machine.devices.iter().filter(|device| device.driver.as_deref() == Some(driver));
        prop_assert_eq!(chosen.len(), all.count());
    }

    #[test]
    fn gpus_do_not_share_devices_if_there_are_enough((name, driver) in machines_with_gpus()) {
        let machine = machine(name);
        let all = machine.devices.iter().filter(|device| device.driver.as_deref() == Some(driver)).count();
        let rails = all / machine.gpus.len();
        let mut used = BTreeSet::new();
        for gpu in &machine.gpus {
            let devices = nearest(&machine, &[driver], &Location::Gpu(gpu.pci.address().to_owned()));
            for device in devices.into_iter().take(rails) {
                prop_assert!(used.insert(device.name.clone()), "{}", device.name);
            }
        }
    }
}
