use super::super::{TABLES, read, read_streams};
use super::*;

/// Kind, names and rule of each line of `log`.
fn found(log: &str) -> Vec<(LogLineKind, Vec<String>, String)> {
    let lines = read(log).lines.into_iter();
    lines
        .map(|line| (line.kind, line.names, line.rule.unwrap_or_default()))
        .collect()
}

/// Kinds of the lines of `log`, with their names.
fn kinds(log: &str) -> Vec<(LogLineKind, String)> {
    found(log)
        .into_iter()
        .map(|(kind, names, _)| (kind, names.join(" ")))
        .collect()
}

#[test]
fn every_line_of_every_library_has_the_stated_meaning() {
    use LogLineKind::{Emulation, Error, Path, Refusal, Staging, Time};
    let nccl = |text: &str| format!("worker-0:101:110 [0] NCCL INFO {text}");
    let cases: Vec<(String, LogLineKind, &str)> = vec![
        (nccl("Using network Socket"), Path, "Socket"),
        (nccl("Using network IB"), Path, "IB"),
        (nccl("Assigned NET plugin Socket to comm"), Path, "Socket"),
        (nccl("NET/Socket : Using [0]eth0:10.0.3.7<0>"), Path, "Socket"),
        (nccl("Channel 00/0 : 0[0] -> 1[0] [send] via NET/Socket/0"), Path, "Socket"),
        (nccl("NET/IB : No device found."), Refusal, "IB"),
        (nccl("NET/Plugin: Could not find: libnccl-net-ofi.so"), Refusal, "libnccl-net-ofi.so"),
        (nccl("NET/Plugin: Failed to initialize libnccl-net-ofi.so"), Refusal, "libnccl-net-ofi.so"),
        (nccl("Failed to initialize NET plugin IB"), Refusal, "IB"),
        (nccl("NET/Plugin : No plugin found, using internal implementation"), Refusal, ""),
        (nccl("Failed to open libibverbs.so[.1]"), Refusal, "IB"),
        (nccl("NET/IB : GPU Direct RDMA Disabled for HCA 0 'mlx5_0'"), Staging, ""),
        ("h:1:2 [0] transport/net_ib.cc:1298 NCCL WARN NET/IB : Got completion".into(), Error, ""),
        (nccl("NET/OFI Selected provider is tcp, fabric is 10.0.3.0/24 (found 2 nics)"), Path, "tcp"),
        (nccl("NET/OFI Selected Provider is tcp;ofi_rxm (found 2 nics)"), Path, "tcp;ofi_rxm"),
        (nccl("NET/OFI No eligible providers were found"), Refusal, ""),
        ("h:1:2 [0] x.c:1 NCCL WARN NET/OFI GDR disabled on GDR-supported instance type p5".into(), Staging, ""),
        (nccl("NET/OFI Could not disable CUDA API usage for HMEM, disabling GDR"), Staging, ""),
        (nccl("NET/OFI Using Libfabric 1.6 API, without GPUDirect RDMA support"), Staging, ""),
        ("h:1:2 [0] x.c:1 NCCL WARN NET/OFI FI_OPT_EFA_EMULATED_WRITE is true when".into(), Emulation, ""),
        (
            "[1.0] [h:1:0] ucp_context.c:1014 UCX  WARN  transport 'rc_x' is not available, please use one or more of: tcp".into(),
            Refusal,
            "rc_x",
        ),
        (
            "[1.0] [h:1:0] ucp_context.c:1492 UCX  WARN  network device 'mlx5_9:1' is not available, please use one or more \
             of: 'eth0'(tcp)"
                .into(),
            Refusal,
            "mlx5_9:1",
        ),
        (
            "[1.0] [h:1:0] ucp_context.c:1276 UCX  ERROR no usable transports/devices (asked rc_x on all devices)".into(),
            Refusal,
            "",
        ),
        ("[1.0] [h:1:0] ucp_worker.c:1763 UCX  INFO    ep_cfg[0]: rma_am(tcp/lo)".into(), Emulation, "tcp"),
        (
            "[1.0] [h:1:0] ucp_worker.c:1991 UCX  INFO    perftest inter-node cfg#0 tag(rc_mlx5/mlx5_0:1 tcp/eth0)".into(),
            Path,
            "rc_mlx5 tcp",
        ),
        (
            "[1.0] [h:1:0] select.c:722  UCX  ERROR no remote memory access transport to h: Unsupported operation".into(),
            Refusal,
            "",
        ),
        ("|  0..inf | software emulation | tcp/eth0 |".into(), Emulation, "tcp"),
        ("|  0..inf | zero-copy | rc_mlx5/mlx5_0:1 |".into(), Path, "rc_mlx5"),
        (
            "libfabric:1:2::core:core:verify_filter_names():554<warn> provider tcpp is unknown, misspelled or DL provider?".into(),
            Refusal,
            "tcpp",
        ),
        ("libfabric:1:2::core:core:fi_fabric_():1667<info> Using tcp provider 2.6, path:".into(), Path, "tcp"),
        ("libfabric:1:2::verbs:fabric:vrb_init_info():1346<info> no RDMA devices found".into(), Refusal, "verbs"),
        (
            "libfabric:1:2::efa:ep_ctrl:f():1<warn> Application used setopt to request use_device_rdma, but EFA device does not \
             support it"
                .into(),
            Emulation,
            "efa",
        ),
        ("libfabric:1:2::efa:core:f():1<info> FI_HMEM_CUDA P2P support is not available.".into(), Staging, ""),
        ("libfabric:1:2::shm:core:f():1<warn> Not enough available space in /dev/shm.".into(), Error, ""),
        (
            "W0304 09:12:11.1 101 nixl_agent.cpp:311] 16 Amazon EFA(s) were detected, but the UCX backend was configured.".into(),
            Refusal,
            "efa",
        ),
        (
            "I0304 09:12:11.1 101 nixl_plugin_manager.cpp:354] Failed to load plugin from /x/libplugin_UCX.so: no such file".into(),
            Refusal,
            "/x/libplugin_UCX.so",
        ),
        ("E0304 09:12:11.1 101 nixl_agent.cpp:357] createBackend: unsupported backend 'LIBFABRIC'".into(), Refusal, "LIBFABRIC"),
        ("I0304 09:12:11.1 101 r.cpp:232] Created 1 rails using provider=tcp".into(), Path, "tcp"),
        ("W0304 09:12:11.1 101 u.cpp:719] 8 IB device(s) were detected, but accelerated IB support was not found!".into(), Refusal, "ib"),
        ("I0306 02:45:59.6 157 transfer_engine_impl.cpp:218] MC_FORCE_TCP is set, using TCP transport only".into(), Path, "tcp"),
        ("I0306 02:45:59.6 157 transfer_engine_impl.cpp:400] Using TCP transport (no HCA detected)".into(), Path, "tcp"),
        ("I0306 02:45:59.6 157 transfer_engine_impl.cpp:430] installTransport, type=rdma".into(), Path, "rdma"),
        ("W0306 02:45:59.6 157 topology.cpp:201] No RDMA devices found, check your device installation".into(), Refusal, "rdma"),
        ("I0306 02:45:59.6 157 t.cpp:273] Topology discovery complete. Found 0 HCAs.".into(), Refusal, "rdma"),
        ("E0306 02:45:59.6 157 t.cpp:384] Failed to install RDMA transport".into(), Refusal, "RDMA"),
        ("W0306 02:45:59.6 157 t.cpp:384] No suitable hardware; data will go over another network".into(), Error, ""),
        ("Conflicting CPU frequency values detected: 3600.0 != 800.0. CPU Frequency is not max.".into(), Time, ""),
        (" Number of qps   : 1\t\tTransport type : IB".into(), Path, "IB"),
        (" Failed status-transport retry counter exceeded (12): wr_id 0 syndrom 0x81".into(), Error, ""),
        ("[worker-0:04101] Signal: Segmentation fault (11)".into(), Error, ""),
    ];
    for (line, kind, names) in cases {
        assert_eq!(kinds(&line), [(kind, names.to_owned())], "{line}");
    }
}

#[test]
fn harmless_lines_and_settings_are_not_evidence() {
    for line in [
        "h:1:1 [0] NCCL INFO NET/OFI NCCL_OFI_TUNER is not available for platform : p4d.24xlarge, Fall back to NCCL's tuner",
        "h:1:1 [0] NCCL INFO NET/OFI Region Context is not ready. Fall back to NCCL's tuner.",
        "h:1:1 [0] NCCL INFO NET/OFI Falling back to NCCL's tuner due to OFI_NCCL_FORCE_NUM_RAILS being set.",
        "h:1:1 [0] NCCL INFO RAS link 1: adding external fallback connection 2 with 10.0.3.8<28028>",
        "h:1:1 [0] NCCL INFO Could not find a path for pattern 4, falling back to simple order",
        "h:1:1 [0] NCCL INFO cuMem host allocations do not appear to be working; falling back to a /dev/shm/ based implementation.",
        "h:1:1 [0] NCCL INFO TUNER/Plugin: Could not find: libnccl-tuner.so",
        "h:1:1 [0] NCCL INFO NET/Plugin: Failed to find ncclNetPlugin_v8 symbol.",
        "h:1:1 [0] NCCL INFO Channel 00/0 : 0[0] -> 1[1] via P2P/IPC",
        "h:1:1 [0] NCCL INFO NCCL_NET_PLUGIN set by environment to none",
        "I0306 02:45:59.6 157 rdma_transport.cpp:150] [RDMA] Relaxed ordering disabled via MC_IB_PCI_RELAXED_ORDERING=0. Falling \
         back to strict ordering.",
        "I1125 18:54:12.3 25118 transfer_engine_impl.cpp:1046] Metrics reporting is disabled (set MC_TE_METRIC=1 to enable)",
        "[1.0] [h:1:0] ucp_worker.c:1462 UCX  DIAG  failed to open CM on component rdmacm with status Input/output error",
        "[1.0] [h:1:0] parser.c:1916 UCX  INFO  UCX_* env variables: UCX_RNDV_THRESH_FALLBACK=inf UCX_TLS=tcp",
        "E0304 09:12:11.1 101 nixl_plugin_manager.cpp:333] Failed to load plugin from /usr/lib/libplugin_GDS.so: libcufile.so.0: \
         cannot open shared object file",
        "E0304 09:12:11.1 101 nixl_plugin_manager.cpp:390] Failed to load plugin 'GDS_MT' from any directory",
        "libfabric:1:2::core:core:ofi_hmem_init():247<info> Hmem iface FI_HMEM_CUDA not supported",
        "libfabric:1:2::tcp:core:ofi_check_ep_type():667<info> unsupported endpoint type",
        "libfabric:1:2::core:core:fi_getinfo_():1230<warn> fi_getinfo: provider ofi_rxm returned -61 (No data available)",
        " new post send flow is not supported, falling back to ibv_post_send",
        " WARNING: BW peak won't be measured in this run.",
        "X_FALLBACK=1",
    ] {
        assert_eq!(found(line), [], "{line}");
    }
}

#[test]
fn unknown_lines_are_counted_and_the_first_are_kept() {
    let log: String = (0..100)
        .map(|number| format!("W: transport {number} falls back to something\n"))
        .collect();
    let found = read(&log);
    assert_eq!(
        (found.lines.len(), found.unrecognized, found.omitted),
        (MAX_UNKNOWN, 100, 0)
    );
    assert!(
        found
            .lines
            .iter()
            .all(|line| line.rule.is_none() && line.kind == LogLineKind::Unknown)
    );
    assert_eq!(found.lines[1].line, 2);
    let error = (0..100)
        .map(|number| format!("h:1:1 [0] NCCL WARN {number}\n"))
        .collect::<String>();
    let path = "h:1:1 [0] NCCL INFO Using network Socket\n";
    let many = read(&(log + &error + path));
    assert_eq!(many.lines.len(), MAX_LINES);
    assert_eq!(many.omitted, 101 - (MAX_LINES - MAX_UNKNOWN) as u64);
    assert!(
        many.lines.iter().any(|line| line.kind == LogLineKind::Path),
        "{many:?}"
    );
}

#[test]
fn combined_logs_keep_their_origin_and_their_counts() {
    let client = read_streams(CommandProgram::Client, "", "x\nW: falling back to TCP\u{7} now\n");
    let line = &client.lines[0];
    assert_eq!(
        (line.program, line.stream, line.line, line.text.as_str()),
        (
            Some(CommandProgram::Client),
            Some(LogStream::Stderr),
            2,
            "W: falling back to TCP  now"
        )
    );
    let server = read_streams(CommandProgram::Server, "W: falling back to TCP\u{7} now\n", "");
    let both = super::super::combine(client.clone(), server);
    assert_eq!((both.lines.len(), both.unrecognized), (2, 2));
    assert_eq!(
        super::super::combine(client.clone(), CommandLog::default()),
        client
    );
}

#[test]
fn texts_are_shortened() {
    let long = read(&format!("h:1:1 [0] NCCL WARN {}\n", "\u{e9}".repeat(5000)));
    assert!(long.lines[0].text.len() <= MAX_TEXT_BYTES + 3, "{long:?}");
    assert!(long.lines[0].text.ends_with('…'));
}

#[test]
fn names_of_rules_are_distinct_and_every_library_has_enough_rules() {
    for table in TABLES {
        let names: std::collections::BTreeSet<_> = table.rules.iter().map(|rule| rule.name).collect();
        assert_eq!(names.len(), table.rules.len(), "{}", table.library);
        assert!(table.rules.len() >= 8, "{}", table.library);
    }
}

/// Lines that NCCL 2.18 to 2.30 and UCX 1.13 to 1.23 print on machines on which nothing is wrong.
#[test]
fn lines_about_optional_features_are_harmless() {
    let nccl = [
        "Communicator has 1 nodes which is less than CollNet node threshold 2, disabling CollNet",
        "Disabling LL128 over all PxN connections (PXB and C2C). This ensures that no C2C link will be used by LL128.",
        "Disabling work fifo",
        "Could not open XML topology file /var/run/nvidia-topologyd/virtualTopology.xml : No such file or directory",
        "Unable to open /tmp/topo.xml, not dumping topology.",
        "latencyinter not found in graph, using 0.0",
        "Symmetric memory is not supported. cuMemEnable 0, globalGinSupport 0, cuMemGdrSupport 0",
        "NCCL_NUM_RMA_CTX=0, RMA disabled for this communicator",
        "dlvsym failed on mlx5dv_reg_dmabuf_mr - /lib/libmlx5.so: undefined symbol version MLX5_1.25",
        "NET/MLX5: Call to mlx5dv_internal_get_data_direct_sysfs_path failed with error No such device errno 19",
        "Could not get speed from /sys/class/net/eth0/speed. Defaulting to 10 Gbps.",
        "Net : Unsupported address family type",
        "fallocate: Failed to extend /dev/shm/nccl-Xa9f2k to 9637892 bytes, error: Interrupted system call (4) - retrying",
        "Tuner: failed to find ncclTunerPlugin_v2 in plugin (libnccl-tuner.so), using default tuner instead.",
        "PARAM: Disabling caching for environment variable NCCL_ALGO.",
        "Failed to bind NVLink SHARP (NVLS) Multicast memory of size 2097152 : CUDA error 1 'invalid argument'. Proceeding without \
         NVLS support.",
        "Failed to multicast-bind user buffer: CUDA error 1 'invalid argument'",
        "rank 0 failed to NET register userbuff 0x7f0000000000 buffSize 1048576 GDR flag 0",
        "rank 0 failed to NVLS register sendbuff 0x7f0000 sendbuffSize 4 recvbuff 0x7f0010 recvbuffSize 4",
        "rank 0 failed to IPC register userbuff 0x7f0000 buffSize 4 nPeers 1 isLegacyIpc 1 type POSIX_FD",
        "rank 0 - COLLNET failed to register userbuff 0x7f0000, buffSize 4, type Recv, GDR 0",
        "Legacy IPC not supported",
        "Detected a mix of single and multiple-port NICs. Force-disabling NCCL_IB_MERGE_NICS",
        "NET/IB: ncclIbResiliencyInit: Resiliency is disabled on the send communicator (comm=0x55d0)",
        "NET/IB: ncclIbResiliencyInit: Port recovery is disabled for the resiliency context on the recv communicator (comm=0x5)",
        "Failed to register memory with DMA-BUF, error=95. Trying a different method.",
    ];
    let ucx = [
        "cannot determine free mem size, using default: 1073741824",
        "could not read HugePages_Total from /proc/meminfo",
        "mm failed to allocate 8447 bytes with hugetlb",
        "md alloc disabled: only 1024 bytes left in shm",
        "could not open the KNEM device file at /dev/knem: No such file or directory. Disabling knem resource",
        "xpmem_version() returned -1 (No such file or directory), xpmem is unavailable",
        "CMA is disabled:process_vm_writev delivered -1 instead of 8: Operation not permitted",
        "could not read '/proc/sys/kernel/yama/ptrace_scope' - assuming Yama security is not enforced",
        "failed to connect to vfs socket '/tmp/ucx-vfs': Connection refused",
        "failed to watch on '/tmp': no space left on device, VFS will be disabled",
        "inotify_init() failed: Too many inotify instances. Please increase sysctl fs.inotify.max_user_instances to avoid the error",
        "failed to open config file /etc/ucx/ucx.conf: No such file or directory",
        "failed to readlink(/sys/class/net/lo/device): No such file or directory",
        "ioctl(req=35142, ifr_name=eth1) failed: Cannot assign requested address",
        "dlopen('libnvidia-ml.so.1', mode=0x2) failed: libnvidia-ml.so.1: cannot open shared object file: No such file or directory",
        "nvml unavailable: using cuda-only gpu enumeration",
        "multi-node NVLINK support is disabled",
        "cuda-ipc get zcopy disabled as no nvlinks detected",
        "could not open gdr copy. disabling gdr copy resource",
        "could not initialize ROCm support",
        "failure to initialize ze library: 0x78000001",
        "gaudi device discovery failed, no devices available",
        "Failed to get GGA device list, assuming no devices are present",
        "mlx5_0: DEVX is not supported",
        "mlx5_0: KSM over device memory is not supported",
        "mlx5_0: direct NIC is disabled by configuration",
        "mlx5_0: md open by 'mlx5' failed, trying next",
        "mlx5_9: smi device is not supported",
        "ibv_fork_init() failed: Function not implemented, continuing, but fork may be unsafe.",
        "worker 0x55d0: no support for atomics",
        "cannot add high-bw rma lane - reached limit (8)",
    ];
    let nccl = nccl.map(|text| format!("worker-0:101:110 [0] NCCL INFO {text}"));
    let ucx = ucx.map(|text| format!("[1.0] [h:1:0] x.c:1 UCX  DEBUG {text}"));
    for line in nccl.iter().chain(&ucx) {
        assert_eq!(found(line), [], "{line}");
        assert!(is_recognized(line), "{line}");
    }
    for (line, kind, names) in [
        (
            "h:1:2 [0] NCCL INFO init.cc:1843 Cuda failure 'out of memory'",
            LogLineKind::Error,
            "",
        ),
        (
            "h:1:2 [0] NCCL INFO NET/IB: f: Marking device 1 as permanently failed (send comm=0x1)",
            LogLineKind::Error,
            "",
        ),
        (
            "[1.0] [h:1:0] ib_md.c:1 UCX  DEBUG Failed to get IB device list, assuming no devices are present",
            LogLineKind::Refusal,
            "ib",
        ),
    ] {
        assert_eq!(kinds(line), [(kind, names.to_owned())], "{line}");
    }
}
