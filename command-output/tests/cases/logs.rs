//! Complete outputs of all tools, and functions that read them.

use command_output::import::{Log, read};
use crds::v1alpha1::CommandTool;

/// Output of all_reduce_perf with three sizes.
pub(crate) const NCCL: &str = "# nThread 1 nGpus 1 minBytes 4194304 maxBytes 16777216 step: 2(factor) warmup iters: 5 iters: 20 agg iters: 1 validation: 1 graph: 0
#
# Using devices
#  Rank  0 Group  0 Pid    812 on  trainer-0 device  0 [0000:18:00] NVIDIA H100 80GB HBM3
#  Rank  1 Group  0 Pid    813 on  trainer-1 device  0 [0000:18:00] NVIDIA H100 80GB HBM3
#
#                                                              out-of-place                       in-place          
#       size         count      type   redop    root     time   algbw   busbw #wrong     time   algbw   busbw #wrong
#        (B)    (elements)                               (us)  (GB/s)  (GB/s)            (us)  (GB/s)  (GB/s)       
     4194304       1048576     float     sum      -1    200.0   20.97   20.97      0    201.0   20.87   20.87      0
     8388608       2097152     float     sum      -1    310.5   27.02   27.02      0    311.0   26.97   26.97      0
    16777216       4194304     float     sum      -1    500.5   33.52   33.52      0    501.5   33.45   33.45      0
# Out of bounds values : 0 OK
# Avg bus bandwidth    : 27.1333 
#
";
/// Output of ib_write_bw.
pub(crate) const PERFTEST: &str =
    "---------------------------------------------------------------------------------------
                    RDMA_Write BW Test
 Dual-port       : OFF\t\tDevice         : mlx5_2
 Number of qps   : 4\t\tTransport type : IB
 Connection type : RC\t\tUsing SRQ      : OFF
 CQ Moderation   : 100
 Mtu             : 4096[B]
 Link type       : Ethernet
 Max inline data : 0[B]
---------------------------------------------------------------------------------------
 local address: LID 0000 QPN 0x0127 PSN 0x4f1e55 RKey 0x17f2ac VAddr 0x007f1a9a0a9000
 remote address: LID 0000 QPN 0x0128 PSN 0xbfe0c4 RKey 0x17f2ad VAddr 0x007f9f0b3f7000
---------------------------------------------------------------------------------------
 #bytes     #iterations    BW peak[Gb/sec]    BW average[Gb/sec]   MsgRate[Mpps]
 8192       20000            97.41              97.20 \t\t     1.483154
 65536      20000            98.02              97.94 \t\t     0.186806
---------------------------------------------------------------------------------------
";
/// Output of ib_read_lat.
pub(crate) const LATENCY: &str = "---------------------------------------------------------------------------------------
                    RDMA_Read Latency Test
---------------------------------------------------------------------------------------
 #bytes #iterations    t_min[usec]    t_max[usec]  t_typical[usec]    t_avg[usec]    t_stdev[usec]   99% percentile[usec]   99.9% percentile[usec] 
 16      1000          2.01           9.87         2.05     \t       2.09        \t0.11   \t\t2.51    \t9.87   
 4096    1000          12.01          99.87        12.05    \t       12.09       \t0.11   \t\t12.51   \t99.87  
---------------------------------------------------------------------------------------
";
/// Output of fi_rdm_tagged_bw.
pub(crate) const FABTESTS: &str = "bytes   iters   total       time     MB/sec    usec/xfer   Mxfers/sec
256     20k     4.8m        0.02s    251.97       1.02       0.98
4k      20k     78m         0.04s   2046.98       2.00       0.50
1m      200     200m        0.02s  10485.76     100.00       0.01
";
/// Output of `fi_rdm_bw -m`.
pub(crate) const MACHINE_READABLE: &str = "---
fi_rdm_bw -p tcp -m 10.1.0.4 :
- { xfer_size: 128, iterations: 1000, total: 128000, time: 0.002000, MB/sec: 64.000000, usec/xfer: 2.000000, Mxfers/sec: 0.500000 }
- { xfer_size: 512, iterations: 1000, total: 512000, time: 0.002500, MB/sec: 204.800000, usec/xfer: 2.500000, Mxfers/sec: 0.400000 }
";
/// Output of nixlbench.
pub(crate) const NIXLBENCH: &str = "----------------------------------------------------------------------------------------------------------------------------------------------------------------
Block Size (B)      Batch Size     B/W (GB/Sec)   Avg Lat. (us)  Avg Prep (us)  P99 Prep (us)  Avg Post (us)  P99 Post (us)  Avg Tx (us)    P99 Tx (us)    
----------------------------------------------------------------------------------------------------------------------------------------------------------------
65536               1              4.369067       15.0           30.0           30.0           3.1            4.0            11.9           14.0           
131072              1              6.553600       20.0           30.0           30.0           3.1            4.0            16.9           19.0           
";
/// Output of ucx_perftest.
pub(crate) const UCX: &str = "+--------------+--------------+------------------------------+---------------------+-----------------------+
|              |              |        latency (usec)        |   bandwidth (MB/s)  |  message rate (msg/s) |
+--------------+--------------+----------+---------+---------+----------+----------+-----------+-----------+
|    Stage     | # iterations | 50.0%ile | average | overall |  average |  overall |  average  |  overall  |
+--------------+--------------+----------+---------+---------+----------+----------+-----------+-----------+
[thread 0]             50000      9.881    20.000    20.000        3.05       3.05       50000       50000
Final:                100000      9.881    20.000    20.000        3.05       3.05       50000       50000
";
/// Output of transfer_engine_bench.
pub(crate) const MOONCAKE: &str = "I1128 21:10:24.123456  4101 transfer_engine_bench.cpp:357] Worker 0 stopped!
I1128 21:10:24.123456  4101 transfer_engine_bench.cpp:520] Test completed: duration 10.00, batch count 6102, throughput 5.12 GB/s
";

pub(crate) const LOGS: [(CommandTool, &str); 8] = [
    (CommandTool::NcclTests, NCCL),
    (CommandTool::Perftest, PERFTEST),
    (CommandTool::Perftest, LATENCY),
    (CommandTool::Fabtests, FABTESTS),
    (CommandTool::Fabtests, MACHINE_READABLE),
    (CommandTool::Nixlbench, NIXLBENCH),
    (CommandTool::UcxPerftest, UCX),
    (CommandTool::TransferEngineBench, MOONCAKE),
];

pub(crate) fn import(tool: CommandTool, log: &str) -> Log {
    read(tool, None, log.as_bytes()).unwrap_or_else(|error| panic!("{tool:?}: {error}\n{log}"))
}

pub(crate) fn error(tool: CommandTool, log: &str) -> String {
    match read(tool, None, log.as_bytes()) {
        Ok(found) => panic!("accepted {:?}:\n{log}", found.rows),
        Err(error) => error.to_string(),
    }
}
