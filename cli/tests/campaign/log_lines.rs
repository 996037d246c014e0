//! Log lines of commands and of imported logs: which of them contradict the fabric, which are warnings, and which are
//! neither.

use std::fs;

use crds::v1alpha1::{FabricProof, Verdict};
use serde_json::Value;

use super::command::manifest;
use super::harness::{CommandOutput, RunningCommand, TestDir, fabricbench};
use super::stored_run::StoredRun;

/// Output of nccl-tests for a size, with `lines` before the table. The time is that of the arm.
fn nccl(lines: &str) -> String {
    format!(
        "{lines}; echo '#       size         count      type   redop    root     time   algbw   busbw #wrong     time   algbw   \
         busbw #wrong'; echo '#        (B)    (elements)                               (us)  (GB/s)  (GB/s)            (us)  \
         (GB/s)  (GB/s)       '; echo \"  64  16  float  sum  -1  $0  0.00  0.00  0  $0  0.00  0.00  0\"; echo '# Out of \
         bounds values : 0 OK'; echo '# Avg bus bandwidth    : 0 '"
    )
}

/// Shell command that prints `line`.
fn echo(line: &str) -> String {
    format!("echo \"{line}\"")
}

/// Runs two arms, the second of which is faster, with a client that prints the output of `tool` and `lines`.
fn run(transport: &str, tool: &str, script: &str) -> StoredRun {
    let dir = TestDir::new();
    // The script is longer than an argument of a command may be.
    let scripts = tempfile::tempdir().unwrap();
    let file = scripts.path().join("tool.sh");
    fs::write(&file, script).unwrap();
    let script = &format!(". {}", file.display());
    let variants = "[{name: base, arguments: [\"300.5\"]}, {name: other, arguments: [\"250.5\"]}]";
    let manifest = manifest(variants, script)
        .replace("{loopback: {}}", transport)
        .replace("tool: Fabtests", &format!("tool: {tool}"))
        .replace("    integrity: false\n", "")
        .replace("timeoutSeconds: 2", "timeoutSeconds: 30");
    let manifest = manifest.replace(
        &format!("{script:?}]"),
        &format!("{script:?}, \"{{arguments}}\"]"),
    );
    let mut command = dir.run(&dir.manifest(&manifest));
    command.args(["--rounds", "8"]);
    let output = RunningCommand::start(command).wait();
    assert!(matches!(output.status.code(), Some(0 | 1 | 3)), "{output}");
    let stored = StoredRun::read(&dir.run_dir("script"));
    for format in ["text", "markdown", "html", "json", "junit"] {
        let mut command = fabricbench(["report", "--format", format]);
        command.arg(dir.run_dir("script"));
        let report = RunningCommand::start(command).wait().stdout;
        for rule in stored
            .status()
            .warnings
            .iter()
            .filter_map(|warning| rule_of(warning))
        {
            assert!(report.contains(rule), "{format}: {rule}: {report}");
        }
    }
    stored
}

/// Name of the rule in a warning.
fn rule_of(warning: &str) -> Option<&str> {
    let (_, rest) = warning.split_once("rule ")?;
    rest.split([')', ' ']).next().filter(|rule| rule.contains('/'))
}

const TCP: &str = "{libfabric: {provider: tcp}}";

#[test]
fn lines_without_a_path_do_not_change_the_verdict() {
    let info = "worker-0:101:110 [0] NCCL INFO";
    let lines = [
        format!(
            "{info} NET/OFI NCCL_OFI_TUNER is not available for platform : p4d.24xlarge, Fall back to NCCL's tuner"
        ),
        format!(
            "{info} cuMem host allocations do not appear to be working; falling back to a /dev/shm/ based implementation."
        ),
        format!("{info} RAS link 1: adding external fallback connection 2 with 10.0.3.8<28028>"),
        format!("{info} Could not find a path for pattern 4, falling back to simple order"),
        "I0306 02:45:59.641780 157201 rdma_transport.cpp:150] [RDMA] Relaxed ordering disabled via \
         MC_IB_PCI_RELAXED_ORDERING=0. Falling back to strict ordering."
            .to_owned(),
    ];
    let lines: Vec<String> = lines.iter().map(|line| echo(line)).collect();
    let stored = run(TCP, "NcclTests", &nccl(&lines.join("; ")));
    let status = stored.status();
    assert_eq!(stored.failures(), Vec::new());
    assert_eq!(status.fabric.as_ref().unwrap().proof, FabricProof::Declared);
    assert_eq!(
        status.comparisons[0].verdict,
        Some(Verdict::Improved),
        "{:?}",
        status.comparisons
    );
    let about_lines: Vec<_> = status
        .warnings
        .iter()
        .filter(|one| one.contains("line "))
        .collect();
    assert!(about_lines.is_empty(), "{about_lines:?}");
}

#[test]
fn lines_with_another_path_are_warnings_if_rdma_was_not_requested() {
    let refused = "[1.1] [h:101:0] ucp_context.c:1492 UCX  WARN  transports 'cuda_copy','rc_mlx5' are not available, please use \
                   one or more of: cma, tcp";
    let warn = "worker-1:4102:4160 [0] transport/net_ib.cc:1298 NCCL WARN NET/IB : Got completion from peer with status=12";
    let lines = [
        echo(refused),
        echo("worker-0:101:110 [0] NCCL INFO NET/OFI Selected provider is efa, fabric is efa (found 4 nics)"),
        echo("W: the transport falls back to something else"),
        format!("{} >&2", echo(warn)),
    ];
    let stored = run(TCP, "NcclTests", &nccl(&lines.join("; ")));
    let status = stored.status();
    assert_eq!(status.fabric.as_ref().unwrap().proof, FabricProof::Declared);
    assert_eq!(
        status.comparisons[0].verdict,
        Some(Verdict::Improved),
        "{:?}",
        status.comparisons
    );
    let warnings = status.warnings.join("\n");
    for text in [
        "rule ucx/transports-not-available",
        "rule ofi-nccl/provider",
        "a possible fallback that no rule recognizes",
        "line 1 of the standard error of the client on rank 0",
        "rule nccl/warning",
    ] {
        assert!(warnings.contains(text), "{text}: {warnings}");
    }
}

#[test]
fn emulation_contradicts_a_transport_that_denies_it() {
    let lanes = "[1.1] [h:101:0] ucp_worker.c:1763 UCX  INFO    ep_cfg[0]: rma_am(tcp/lo)";
    let row = "[1.1] [h:101:0]   |                   1000..inf | software emulation | tcp/lo |";
    let ucx = "{ucx: {transports: [tcp]}}";
    let contradicted = run(ucx, "NcclTests", &nccl(&echo(lanes)));
    let fabric = contradicted.status().fabric.as_ref().unwrap();
    assert_eq!(fabric.proof, FabricProof::Contradicted, "{fabric:?}");
    assert!(fabric.reason.contains("rma_am(tcp/lo)"), "{fabric:?}");
    // The row is about larger messages than those of the case.
    let other_sizes = run(ucx, "NcclTests", &nccl(&echo(row)));
    let fabric = other_sizes.status().fabric.as_ref().unwrap();
    assert_eq!(fabric.proof, FabricProof::Declared, "{fabric:?}");
}

/// Imports `log`, and returns the warnings and the lines that name the data path.
fn imported(tool: &str, log: &str) -> (Vec<String>, Vec<String>) {
    let dir = TestDir::new();
    let logs = tempfile::tempdir().unwrap();
    let file = logs.path().join("log.txt");
    fs::write(&file, log).unwrap();
    let mut command = fabricbench(["import", "--tool", tool, "--name", "x", "--output"]);
    command.arg(dir.output_dir()).arg(&file);
    RunningCommand::start(command).wait().expect_code(0);
    let report = |format: &str| -> CommandOutput {
        let mut command = fabricbench(["report", "--format", format]);
        command.arg(dir.run_dir("x"));
        RunningCommand::start(command).wait().expect_code(3)
    };
    let json: Value = serde_json::from_str(&report("json").stdout).unwrap();
    let list = |name: &str| -> Vec<String> {
        let lines = json[name].as_array().unwrap().iter();
        lines.map(|line| line.as_str().unwrap().to_owned()).collect()
    };
    let warnings: Vec<String> = list("warnings")
        .into_iter()
        .filter(|warning| !warning.contains("every value comes from a single log"))
        .collect();
    for format in ["text", "markdown", "html", "junit"] {
        let text = report(format).stdout;
        for warning in &warnings {
            let rule = rule_of(warning).unwrap();
            assert!(text.contains(rule), "{format}: {warning}: {text}");
        }
    }
    (warnings, list("reported"))
}

const NCCL_ROWS: &str = "\
#       size         count      type   redop    root     time   algbw   busbw #wrong     time   algbw   busbw #wrong
#        (B)    (elements)                               (us)  (GB/s)  (GB/s)            (us)  (GB/s)  (GB/s)       \n\
     8388608       2097152     float     sum      -1    321.4   26.10   26.10      0    318.9   26.30   26.30      0\n\
# Out of bounds values : 0 OK\n# Avg bus bandwidth    : 26.2 \n#\n";

const UCX_ROWS: &str = "\
+--------------+--------------+------------------------------+---------------------+-----------------------+
|              |              |       overhead (usec)        |   bandwidth (MB/s)  |  message rate (msg/s) |
+--------------+--------------+------------------------------+---------------------+-----------------------+
|    Stage     | # iterations | 50.0%ile | average | overall |  average |  overall |  average  |  overall  |
+--------------+--------------+------------------------------+---------------------+-----------------------+
Final:                  1000      0.240  1675.942  1671.351      115.58     116.62         597         598\n";

const NIXL_ROWS: &str = "\
----------------------------------------------------------------------------------------------------------------------------------------------------------------
Block Size (B)      Batch Size     B/W (GB/Sec)   Avg Lat. (us)  Avg Prep (us)  P99 Prep (us)  Avg Post (us)  P99 Post (us)  Avg Tx (us)    P99 Tx (us)
----------------------------------------------------------------------------------------------------------------------------------------------------------------
4096                1              0.229964       17.8           41.0           41.0           4.8            6.0            12.9           25.0\n";

#[test]
fn harmless_lines_of_an_imported_log_are_not_warnings() {
    let info = "worker-0:101:110 [0] NCCL INFO";
    let (warnings, paths) = imported(
        "NcclTests",
        &format!(
            "{info} RAS link 1: adding external fallback connection 2 with 10.0.3.8<28028>\n\
             {info} NET/IB : Using [0]mlx5_0:1/IB [RO]; OOB eth0:10.0.3.7<0>\n\
             {info} Could not find a path for pattern 4, falling back to simple order\n\
             {info} Using network IB\n{NCCL_ROWS}"
        ),
    );
    assert_eq!(warnings, Vec::<String>::new());
    assert_eq!(paths.len(), 2, "{paths:?}");
    assert!(paths[1].contains("log.txt, line 4"), "{paths:?}");
}

#[test]
fn doubtful_lines_of_an_imported_log_are_warnings() {
    let info = "worker-0:101:110 [0] NCCL INFO";
    let perftest = "\
---------------------------------------------------------------------------------------
                    RDMA_Write Latency Test
 Dual-port       : OFF\t\tDevice         : mlx5_0
 Number of qps   : 1\t\tTransport type : IB
---------------------------------------------------------------------------------------
 #bytes #iterations    t_min[usec]    t_max[usec]  t_typical[usec]    t_avg[usec]    t_stdev[usec]   99% percentile[usec]   99.9% percentile[usec] 
Conflicting CPU frequency values detected: 3600.000000 != 800.000000. CPU Frequency is not max.
 8       1000          0.79           2.41         0.83     \t       0.84        \t0.05   \t\t0.93    \t2.41   
---------------------------------------------------------------------------------------\n";
    let table = "\
+---------------------------+-----------------------------------------------------------------------------+
| perftest inter-node cfg#0 | remote memory write by ucp_put* from cuda memory to cuda                    |
+---------------------------+--------------------+--------------------------------------------------------+
|                    0..inf | software emulation | tcp/eth0                                               |
+---------------------------+--------------------+--------------------------------------------------------+\n";
    let cases: [(&str, String, &[&str]); 7] = [
        (
            "NcclTests",
            format!(
                "{NCCL_ROWS}worker-1:4102:4160 [0] transport/net_ib.cc:1298 NCCL WARN NET/IB : Got completion with status=12\n\
                 [worker-0:04101] Signal: Segmentation fault (11)\n"
            ),
            &[
                "log.txt, line 7 (an error or a warning; rule nccl/warning",
                "rule nccl/warning",
                "rule process/signal",
            ],
        ),
        (
            "UcxPerftest",
            format!(
                "[1764316800.1] [worker-0:101  :0]     ucp_context.c:1492 UCX  WARN  transports 'cuda_copy','rc_mlx5' are not \
                 available, please use one or more of: cma, tcp\n{UCX_ROWS}"
            ),
            &[
                "log.txt, line 1 (not available",
                "not available or refused: cuda_copy, rc_mlx5",
            ],
        ),
        (
            "UcxPerftest",
            UCX_ROWS.replace("Final:", &format!("{table}Final:")),
            &[
                "emulated in software: tcp, which are kernel sockets; rule ucx/protocol",
                "tcp/eth0",
            ],
        ),
        (
            "Nixlbench",
            format!(
                "W0304 09:12:11.101010     101 nixl_agent.cpp:311] 16 Amazon EFA(s) were detected, but the UCX backend was \
                 configured.\n{NIXL_ROWS}"
            ),
            &["rule nixl/efa-not-used"],
        ),
        (
            "NcclTests",
            format!(
                "{info} NET/OFI Selected provider is tcp, fabric is 10.0.3.0/24 (found 2 nics)\n{info} Using network \
                 Libfabric\n{NCCL_ROWS}"
            ),
            &["the data path: tcp, which are kernel sockets; rule ofi-nccl/provider"],
        ),
        (
            "NcclTests",
            format!(
                "{info} NET/OFI No eligible providers were found\n{info} NET/Plugin: Failed to initialize \
                 libnccl-net-ofi.so\n{info} Failed to open libibverbs.so[.1]\n{info} NET/Socket : Using \
                 [0]eth0:10.0.3.7<0>\n{info} Using network Socket\n{NCCL_ROWS}"
            ),
            &[
                "rule ofi-nccl/no-provider",
                "rule nccl/plugin-init-file",
                "rule nccl/no-ib-library",
                "rule nccl/socket-devices",
                "rule nccl/network",
            ],
        ),
        (
            "Perftest",
            perftest.to_owned(),
            &["the printed times may be wrong; rule perftest/clock"],
        ),
    ];
    for (tool, log, texts) in cases {
        let (warnings, _) = imported(tool, &log);
        let warnings = warnings.join("\n");
        for text in texts {
            assert!(warnings.contains(text), "{tool}: {text}: {warnings}");
        }
    }
}
