//! Tests with the kernel files of a simulated machine.

use std::fs;
use std::os::unix::fs::symlink;

use tempfile::TempDir;

use super::*;

/// A simulated machine with its kernel files.
pub(crate) struct Machine(TempDir);

impl Machine {
    /// Creates the files, given as pairs of path and text.
    pub(crate) fn new(files: &[(&str, &str)]) -> Self {
        let machine = Self(TempDir::new().unwrap());
        for (path, text) in files {
            let path = machine.0.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        machine
    }

    /// Roots of the directory trees that contain the files.
    pub(crate) fn roots(&self) -> SystemRoots {
        SystemRoots {
            proc: self.0.path().join("proc"),
            sys: self.0.path().join("sys"),
        }
    }

    fn environment(&self) -> HostEnvironment {
        host_environment(&self.roots(), |_| None, ClockFacts::default())
    }
}

#[test]
fn reads_facts_from_kernel_files() {
    let machine = Machine::new(&[
        (
            "proc/self/status",
            "Name:\tx\nCpus_allowed:\tf\nCpus_allowed_list:\t0-1,3\n",
        ),
        (
            "proc/self/limits",
            "Limit  Soft Limit  Hard Limit  Units\nMax locked memory         8388608      9000000   bytes\n",
        ),
        ("proc/sys/kernel/hostname", "pod-0\n"),
        ("proc/sys/kernel/osrelease", "6.18.0\n"),
        ("proc/sys/kernel/random/boot_id", "b00t\n"),
        (
            "proc/cpuinfo",
            "processor\t: 0\nmodel name\t: Some CPU @ 3 GHz\n\nprocessor\t: 1\nmodel name\t: Other\n",
        ),
        ("proc/meminfo", "MemTotal:       1024 kB\nMemFree: 2 kB\n"),
        ("sys/kernel/mm/hugepages/hugepages-2048kB/nr_hugepages", "12\n"),
        ("sys/kernel/mm/hugepages/hugepages-2048kB/free_hugepages", "7\n"),
        (
            "sys/devices/system/cpu/cpu0/cpufreq/scaling_governor",
            "performance\n",
        ),
        (
            "sys/devices/system/cpu/cpu2/cpufreq/scaling_governor",
            "powersave\n",
        ),
        ("sys/devices/pci0000:00/0000:00:06.0/vendor", "0x1d0f\n"),
        ("sys/class/infiniband/rxe0/node_type", "1\n"),
        ("sys/class/infiniband/efa_0/node_type", "1\n"),
    ]);
    let device = machine.0.path().join("sys/devices/pci0000:00/0000:00:06.0");
    symlink(device, machine.0.path().join("sys/class/infiniband/efa_0/device")).unwrap();
    fs::create_dir_all(machine.0.path().join("proc/self/ns")).unwrap();
    symlink("net:[4026531840]", machine.0.path().join("proc/self/ns/net")).unwrap();
    let variables = [(names::ENV_VARIANT, "doorbell"), (names::ENV_NODE, "node-a")];
    let variable = |name: &str| {
        let value = variables.iter().find(|(known, _)| *known == name)?.1;
        Some(value.to_owned())
    };
    let facts = host_environment(&machine.roots(), variable, ClockFacts::default());
    assert_eq!(facts.cpus_allowed, "0-1,3");
    assert_eq!(
        facts.governor.as_deref(),
        Some("performance"),
        "governor of the allowed CPUs only"
    );
    assert_eq!(facts.memlock_bytes, Some(8_388_608));
    assert_eq!(
        (facts.hostname.as_str(), facts.kernel.as_str()),
        ("pod-0", "6.18.0")
    );
    assert_eq!(facts.cpu_model, "Some CPU @ 3 GHz");
    assert_eq!(facts.memory_bytes, 1024 * 1024);
    assert_eq!((facts.hugepages_2mi_total, facts.hugepages_2mi_free), (12, 7));
    assert_eq!(facts.rdma_devices, ["0000:00:06.0", "rxe0"]);
    assert_eq!(facts.image_variant.as_deref(), Some("doorbell"));
    assert_eq!(facts.node.as_deref(), Some("node-a"));
    assert_eq!(facts.image_digest, None);
    assert_eq!(boot_id(&machine.roots()), "b00t");
    assert_eq!(facts.network_namespace.as_deref(), Some("b00t/4026531840"));
}

#[test]
fn omits_facts_without_files() {
    let facts = Machine::new(&[]).environment();
    assert_eq!(facts.governor, None);
    assert_eq!(facts.memlock_bytes, None);
    assert_eq!(facts.memory_limit_bytes, None);
    assert_eq!(facts.rdma_devices, Vec::<String>::new());
}

#[test]
fn uses_the_smallest_limit_of_a_version_2_hierarchy() {
    let facts = Machine::new(&[
        ("proc/self/cgroup", "0::/pods/pod-1/runner\n"),
        ("sys/fs/cgroup/pods/memory.max", "1000000\n"),
        ("sys/fs/cgroup/pods/cpu.max", "max 100000\n"),
        ("sys/fs/cgroup/pods/pod-1/memory.max", "500000\n"),
        ("sys/fs/cgroup/pods/pod-1/cpu.max", "250000 100000\n"),
        ("sys/fs/cgroup/pods/pod-1/runner/memory.max", "max\n"),
    ])
    .environment();
    assert_eq!(facts.memory_limit_bytes, Some(500_000));
    assert_eq!(facts.cpu_limit_millis, Some(2500));
}

#[test]
fn reads_a_namespaced_version_2_mount_at_its_root() {
    let facts = Machine::new(&[
        ("proc/self/cgroup", "0::/kubepods/pod-of-the-host\n"),
        ("sys/fs/cgroup/memory.max", "70000\n"),
        ("sys/fs/cgroup/cpu.max", "150000 100000\n"),
    ])
    .environment();
    assert_eq!(
        (facts.memory_limit_bytes, facts.cpu_limit_millis),
        (Some(70_000), Some(1500))
    );
}

#[test]
fn reads_version_1_limits_and_ignores_unlimited_values() {
    let facts = Machine::new(&[
        ("proc/self/cgroup", "5:cpu,cpuacct:/a\n4:memory:/a\n"),
        ("sys/fs/cgroup/cpu/a/cpu.cfs_quota_us", "50000\n"),
        ("sys/fs/cgroup/cpu/a/cpu.cfs_period_us", "100000\n"),
        ("sys/fs/cgroup/cpu/cpu.cfs_quota_us", "-1\n"),
        (
            "sys/fs/cgroup/memory/a/memory.limit_in_bytes",
            "9223372036854771712\n",
        ),
    ])
    .environment();
    assert_eq!(
        (facts.memory_limit_bytes, facts.cpu_limit_millis),
        (None, Some(500))
    );
}

fn available_memory_for(files: &[(&str, &str)]) -> Option<(u64, &'static str)> {
    let found = available_memory(&Machine::new(files).roots());
    found.map(|found| (found.bytes, found.source.name()))
}

#[test]
fn available_memory_is_the_minimum_of_machine_and_version_2_cgroups() {
    let files = [
        ("proc/meminfo", "MemTotal: 90 kB\nMemAvailable:   50 kB\n"),
        ("proc/self/cgroup", "0::/pods/runner\n"),
        ("sys/fs/cgroup/pods/memory.max", "40000\n"),
        ("sys/fs/cgroup/pods/memory.current", "25000\n"),
        // The kernel reclaims these file pages before it kills a process.
        ("sys/fs/cgroup/pods/memory.stat", "anon 1\ninactive_file 5000\n"),
        ("sys/fs/cgroup/pods/runner/memory.max", "max\n"),
        ("sys/fs/cgroup/pods/runner/memory.current", "20000\n"),
    ];
    assert_eq!(available_memory_for(&files), Some((20_000, "the cgroup")));
    assert_eq!(available_memory_for(&files[..1]), Some((51_200, "the machine")));
    assert_eq!(available_memory_for(&[]), None);
}

#[test]
fn available_memory_is_limited_by_version_1_cgroups() {
    let group = "sys/fs/cgroup/memory/a";
    let limit = format!("{group}/memory.limit_in_bytes");
    let usage = format!("{group}/memory.usage_in_bytes");
    let stat = format!("{group}/memory.stat");
    let files = [
        ("proc/meminfo", "MemAvailable:   50 kB\n"),
        ("proc/self/cgroup", "5:cpu,cpuacct:/a\n4:memory:/a\n"),
        (
            "sys/fs/cgroup/memory/memory.limit_in_bytes",
            "9223372036854771712\n",
        ),
        ("sys/fs/cgroup/memory/memory.usage_in_bytes", "70000\n"),
        (&*limit, "40000\n"),
        (&*usage, "30000\n"),
        (&*stat, "inactive_file 1\ntotal_inactive_file 2000\n"),
    ];
    assert_eq!(available_memory_for(&files), Some((12_000, "the cgroup")));
    // Usage exceeds the limit because the limit was lowered.
    let files = files.map(|(path, text)| (path, if path == usage { "45000\n" } else { text }));
    assert_eq!(available_memory_for(&files), Some((0, "the cgroup")));
}

#[test]
fn cpus_near_a_device_come_first() {
    let machine = Machine::new(&[(
        "sys/bus/pci/devices/0000:ca:00.0/local_cpulist",
        "48-95,144-191\n",
    )]);
    let nearest = |address: &str| cpu::nearest_first(&machine.roots().sys, &[2, 50, 3, 144], address);
    assert_eq!(nearest("0000:ca:00.0"), [50, 144, 2, 3]);
    assert_eq!(nearest("0000:53:00.0"), [2, 50, 3, 144]);
}

#[test]
fn reads_nics_gpus_and_the_instance_type() {
    let machine = Machine::new(&[
        ("sys/class/dmi/id/sys_vendor", "Amazon EC2\n"),
        ("sys/class/dmi/id/product_name", "p5.48xlarge\n"),
        ("sys/kernel/iommu_groups/0/type", "DMA-FQ\n"),
        ("sys/class/infiniband/rdmap79s0/fw_ver", "0.0.0.0\n"),
        (
            "sys/class/infiniband/rdmap79s0/device/current_link_speed",
            "32.0 GT/s PCIe\n",
        ),
        ("sys/class/infiniband/rdmap79s0/device/current_link_width", "8\n"),
        (
            "proc/driver/nvidia/version",
            "NVRM version: NVIDIA UNIX x86_64 Kernel Module  535.129.03  Thu Oct 19 18:56:32 UTC 2023\nGCC version: 11\n",
        ),
        (
            "proc/driver/nvidia/gpus/0000:53:00.0/information",
            "Model: \t\t NVIDIA H100 80GB HBM3\nIRQ:   \t\t 123\n",
        ),
    ]);
    let hardware = machine.environment().hardware;
    assert_eq!(hardware.instance_type.as_deref(), Some("p5.48xlarge"));
    assert_eq!(hardware.iommu.as_deref(), Some("DMA-FQ"));
    assert_eq!(hardware.gpus, ["NVIDIA H100 80GB HBM3"]);
    assert_eq!(hardware.gpu_driver.as_deref(), Some("535.129.03"));
    let [nic] = &hardware.nics[..] else {
        panic!("{hardware:?}")
    };
    assert_eq!((nic.name.as_str(), nic.link_width), ("rdmap79s0", Some(8)));
    assert_eq!(nic.firmware.as_deref(), Some("0.0.0.0"));
}

#[test]
fn product_name_of_another_vendor_is_not_an_instance_type() {
    let machine = Machine::new(&[
        ("sys/class/dmi/id/sys_vendor", "QEMU\n"),
        ("sys/class/dmi/id/product_name", "Standard PC\n"),
    ]);
    let hardware = machine.environment().hardware;
    assert_eq!((hardware.instance_type, hardware.nics.len()), (None, 0));
}
