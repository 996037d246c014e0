//! Text of a manifest, with comments that say why each part is there and what to change. Performs no I/O.

use crds::names::{GROUP, KIND, VERSION};
use crds::units::Size;
use crds::v1alpha1::{CommandTool, LibfabricProvider, Metric};
use manifest::yaml_on_one_line as yaml;
use serde_json::json;

use super::question::{Nodes, Place, Question, Setting, Transport, Variant, Workload};

/// Number of workers in a file for all nodes, which the user replaces.
const EXAMPLE_WORKERS: u32 = 4;

/// Manifest for a question. `command` is the command that writes it, `name` the name of the run, and `file` the name of the
/// file, as in a shell.
pub(super) fn manifest(question: &Question, command: &str, name: &str, file: &str) -> String {
    let mut lines = vec![
        format!("# {}", subject(question)),
        "#".to_owned(),
        "# This file was written by".to_owned(),
        "#".to_owned(),
        format!("#   {command}"),
        "#".to_owned(),
        "# Everything can be changed. `fabricbench explain FIELD` explains a field, such as sampling.rounds."
            .to_owned(),
        format!("apiVersion: {GROUP}/{VERSION}"),
        format!("kind: {KIND}"),
        "metadata:".to_owned(),
        format!("  name: {}", quoted(name)),
        "spec:".to_owned(),
    ];
    variants(question, &mut lines);
    transport(question, &mut lines);
    scenarios(question, &mut lines);
    sampling(question, &mut lines);
    placement(question, &mut lines);
    lines.push(format!(
        "# Plan and run it:\n#\n{}",
        commands(question, name, file, "#   ")
    ));
    lines.join("\n") + "\n"
}

/// Commands that plan and run the manifest, one on each line.
pub(super) fn commands(question: &Question, name: &str, file: &str, indent: &str) -> String {
    let run = match question.place {
        Place::ThisMachine => vec![format!("fabricbench run {file} --output {name}-results")],
        Place::Machines => {
            let machines = (1..=workers(question)).map(|number| format!(" --worker HOST-{number}"));
            vec![format!(
                "fabricbench run {file} --output {name}-results{}",
                machines.collect::<String>()
            )]
        }
        Place::P5 => vec![
            format!("kubectl apply --filename {file}"),
            format!(
                "kubectl wait --for=jsonpath='{{.status.execution.finishedAt}}' --timeout=1h bench/{name}"
            ),
            format!("fabricbench report default/{name}"),
        ],
    };
    let all = [format!("fabricbench plan {file}")].into_iter().chain(run);
    all.map(|command| format!("{indent}{command}"))
        .collect::<Vec<_>>()
        .join("\n")
}

/// The question in words.
fn subject(question: &Question) -> String {
    let place = match question.place {
        Place::ThisMachine => "on this machine",
        Place::Machines => "between machines",
        Place::P5 => "between p5 nodes",
    };
    let what = match question.variants.as_slice() {
        [] if question.nodes.is_some() => {
            return format!("Which pair of nodes is slow, and which node? Every pair is measured {place}.");
        }
        [] => return format!("How fast is the command {place}?"),
        [one] => match &one.setting {
            Setting::Env(variables) => {
                let pairs: Vec<_> = variables
                    .iter()
                    .map(|(name, value)| format!("{name}={value}"))
                    .collect();
                pairs.join(" ")
            }
            Setting::Image(image) => image.clone(),
            Setting::Library(directory) => format!("the library in {directory}"),
            Setting::Inject(largest) => format!("inject for messages of up to {largest}"),
        },
        _ => return format!("Which of the variants is better than the baseline {place}?"),
    };
    // A comment is one line.
    format!(
        "Is {} better than the baseline {place}?",
        what.replace(char::is_control, " ")
    )
}

fn variants(question: &Question, lines: &mut Vec<String>) {
    lines.push("  # Each variant is compared with the baseline, in the same rounds.".to_owned());
    lines.extend(["  baseline: baseline", "  variants:", "  - name: baseline"].map(str::to_owned));
    if let Some(image) = &question.baseline_image {
        lines.push(format!("    image: {}", quoted(image)));
    }
    if !question.variants.is_empty() {
        lines.push(
            "  # A variant should differ in one thing, so that it is clear what caused a change.".to_owned(),
        );
    }
    for Variant { name, setting } in &question.variants {
        lines.push(format!("  - name: {}", quoted(name)));
        match setting {
            Setting::Env(variables) => {
                lines.push("    # The report says whether the library reads these variables.".to_owned());
                lines.push("    env:".to_owned());
                let items = variables.iter();
                lines.extend(items.map(|(name, value)| format!("    - {{name: {}, value: {}}}", quoted(name), quoted(value))));
            }
            Setting::Image(image) => lines.extend([
                "    # Images cannot share pods, so each has its own pods in every round, on the same nodes.".to_owned(),
                format!("    image: {}", quoted(image)),
            ]),
            Setting::Library(directory) => lines.extend([
                "    # The directory is on the machine or in the image of the worker, and contains the transport's library."
                    .to_owned(),
                format!("    library: {}", quoted(directory)),
            ]),
            Setting::Inject(largest) => lines.extend([
                "    # Messages above the limit of the provider are sent without inject; the report shows at which sizes.".to_owned(),
                format!("    inject: {{maxBytes: {largest}}}"),
            ]),
        }
    }
    if question.variants.is_empty() {
        lines.extend(
            [
                "  # To compare settings as well, add a variant with one difference, for example:",
                "  # - name: other",
                "  #   env: [{name: FI_X, value: \"1\"}]",
            ]
            .map(str::to_owned),
        );
    }
}

fn transport(question: &Question, lines: &mut Vec<String>) {
    let is_p5 = question.place == Place::P5;
    let (comment, transport) = match question.transport {
        Transport::Libfabric(provider @ (LibfabricProvider::Efa | LibfabricProvider::EfaDirect)) => (
            "A rail is one EFA device. On a p5.48xlarge, `rails: 4` uses the four nearest to one GPU.",
            format!("libfabric: {{provider: {}, rails: 1}}", provider.name()),
        ),
        Transport::Libfabric(provider) => (
            "Provider of libfabric that all arms use. There is no fallback to another one.",
            format!("libfabric: {{provider: {}, rails: 1}}", quoted(provider.name())),
        ),
        Transport::Ucx => (
            "UCX emulates writes over TCP, which must be allowed. On RDMA NICs, use `transports: [rc]`.",
            "ucx: {transports: [tcp], rails: 1, emulation: Allow}".to_owned(),
        ),
        Transport::Nixl if is_p5 => (
            "NIXL over libfabric, which uses the EFA devices.",
            "nixl: {backend: LIBFABRIC}".to_owned(),
        ),
        Transport::Nixl => (
            "NIXL over UCX. Remove the parameter to let UCX choose its transports.",
            "nixl: {backend: UCX, parameters: [{name: engine_config, value: TLS=tcp}]}".to_owned(),
        ),
        Transport::Verbs => (
            "RDMA NICs without a library; needs fabricbench-runner-verbs.",
            "verbs: {}".to_owned(),
        ),
        Transport::Loopback => (
            "Built-in shared memory, which measures no fabric.",
            "loopback: {}".to_owned(),
        ),
    };
    lines.extend([
        format!("  # {comment}"),
        "  transport:".to_owned(),
        format!("    {transport}"),
    ]);
}

fn scenarios(question: &Question, lines: &mut Vec<String>) {
    lines.push("  scenarios:".to_owned());
    match &question.workload {
        Workload::BuiltIn(sizes) => built_in(question, sizes, lines),
        Workload::Command { tool, server, client } => command(*tool, server, client, lines),
    }
}

fn built_in(question: &Question, sizes: &[Size], lines: &mut Vec<String>) {
    let sizes: Vec<String> = sizes.iter().map(Size::to_string).collect();
    let operation = match question.transport {
        // NIXL has no messages.
        Transport::Nixl => "WriteImmediate",
        _ => "Send",
    };
    let large = if question.nodes.is_some() {
        "1Mi"
    } else {
        "64Ki, 1Mi"
    };
    lines.extend([
        "  # Latency of small messages. Replace the sizes with those of your application.".to_owned(),
        "  - name: small".to_owned(),
        "    memory: Heap".to_owned(),
        format!("    pingPong: {{operation: {operation}, sizes: [{}]}}", sizes.join(", ")),
        "  # Throughput of large transfers. With GPUs, `memory: Cuda` measures GPU memory.".to_owned(),
        "  - name: large".to_owned(),
        "    memory: Heap".to_owned(),
        format!(
            "    transfer: {{operation: Write, sizes: [{large}], window: 16, duration: 200ms, warmupDuration: 20ms}}"
        ),
    ]);
}

fn command(tool: CommandTool, server: &[String], client: &[String], lines: &mut Vec<String>) {
    let all = || server.iter().chain(client);
    // A word such as ib_write_bw, tag_bw, --bandwidth or all_reduce_perf.
    let is_rate = matches!(
        tool,
        CommandTool::NcclTests | CommandTool::Nixlbench | CommandTool::TransferEngineBench
    ) || all().any(|word| word.contains("bw") || word.contains("bandwidth"));
    let metric = if is_rate {
        Metric::ReportedBandwidth
    } else {
        Metric::ReportedLatency
    };
    let sizes = if client.iter().any(|word| word.contains("{size}")) {
        "64, 4Ki, 64Ki"
    } else {
        "64"
    };
    lines.extend([
        "  - name: command".to_owned(),
        "    # ReportedLatency or ReportedBandwidth, whichever the command prints.".to_owned(),
        format!("    primaryMetric: {metric}"),
        "    command:".to_owned(),
        format!("      tool: {tool:?}"),
        "      # Each size is a separate run of the command, which gets it as {size}. Without {size}, this is the size that the"
            .to_owned(),
        "      # command uses by itself.".to_owned(),
        format!("      sizes: [{sizes}]"),
        "      # {server} is the address of the server; {port} and {device} are a free port and the NIC. {arguments} is replaced"
            .to_owned(),
        "      # by the `arguments` of each variant.".to_owned(),
    ]);
    if !server.is_empty() {
        lines.push(format!("      server: {}", yaml(&json!(server))));
    }
    lines.push(format!("      client: {}", yaml(&json!(client))));
    if tool == CommandTool::Regex {
        let (group, unit) = match metric {
            Metric::ReportedBandwidth => ("bandwidth", "bandwidthUnit: GB"),
            _ => ("latency", "latencyUnit: us"),
        };
        lines.extend([
            "      # Matches the line with the result. Replace it and the unit: the group is the value."
                .to_owned(),
            format!("      pattern: {{expression: '{group}[^0-9]*(?<{group}>[0-9.]+)', {unit}}}"),
        ]);
    }
}

fn sampling(question: &Question, lines: &mut Vec<String>) {
    let (margin, why) = match question.place {
        Place::ThisMachine => (
            10,
            "10 percent, because other programs disturb a measurement on one machine",
        ),
        Place::Machines => (5, "5 percent"),
        Place::P5 => (2, "2 percent"),
    };
    if question.variants.is_empty() && question.nodes.is_some() {
        lines.extend(
            [
                "  # Nodes are compared with each other, so the baseline needs no second arm as a control.",
                "  sampling: {rounds: 5, control: false}",
            ]
            .map(str::to_owned),
        );
        return;
    }
    lines.extend([
        format!("  # A change within the margin counts as no change: {why}."),
        "  # If a verdict is Inconclusive, add `rounds: N` with more rounds than the plan shows.".to_owned(),
        format!("  sampling: {{marginPercent: {margin}}}"),
    ]);
}

/// Number of workers.
fn workers(question: &Question) -> u32 {
    match question.nodes {
        None => 2,
        Some(Nodes::All) => EXAMPLE_WORKERS,
        Some(Nodes::Count(count)) => count,
    }
}

fn placement(question: &Question, lines: &mut Vec<String>) {
    let is_efa = matches!(
        question.transport,
        Transport::Libfabric(LibfabricProvider::Efa | LibfabricProvider::EfaDirect)
    );
    if is_efa && question.place != Place::P5 {
        lines.push("  # Each rail needs an EFA device.".to_owned());
        lines.push("  resources: {efas: 1}".to_owned());
    }
    if question.place == Place::ThisMachine {
        return;
    }
    lines.push("  placement:".to_owned());
    if question.nodes.is_some() {
        lines.push("    # Every pair of workers is measured, disjoint pairs at the same time. The status contains the".to_owned());
        lines.push("    # deviation of each node and pair from the median: status.nodes and status.pairs, worst first.".to_owned());
    }
    if question.nodes == Some(Nodes::All) {
        let source = match question.place {
            Place::P5 => "kubectl get nodes --selector node.kubernetes.io/instance-type=p5.4xlarge",
            _ => "one `--worker HOST` for each",
        };
        lines.push(format!(
            "    # Replace this with the number of your nodes ({source}). `plan` refuses more than fit."
        ));
    }
    lines.push(format!("    workers: {}", workers(question)));
    if question.place == Place::P5 {
        lines.extend(
            [
                "    # The nodes are reserved for this run, so each worker requests all GPUs and EFA devices of its node. For",
                "    # p5.48xlarge, change the label, and below to gpus: 8, efas: 32, hugepages2Mi: 5Gi, cpus: 16, memory: 64Gi.",
                "    exclusive: true",
                "    nodeSelector: {node.kubernetes.io/instance-type: p5.4xlarge}",
                "    tolerations: [{key: nvidia.com/gpu, operator: Exists, effect: NoSchedule}]",
                "  resources: {gpus: 1, efas: 1, hugepages2Mi: 2Gi, cpus: 8, memory: 32Gi}",
            ]
            .map(str::to_owned),
        );
    }
}

/// A text as a YAML string.
fn quoted(text: &str) -> String {
    yaml(&json!(text))
}
