//! The question that a manifest answers: what is compared, with which workload, and where. Performs no I/O.

use std::fmt;
use std::path::Path;
use std::str::FromStr;

use clap::{Args, ValueEnum};
use crds::suggestion::{did_you_mean, nearest};
use crds::units::Size;
use crds::v1alpha1::{CommandTool, LibfabricProvider};

/// Flags that describe the question.
#[derive(Clone, Debug, Default, Args)]
pub(super) struct Flags {
    /// Environment variables of a variant, such as FI_X=1 or 'FI_X=1 FI_Y=2'. Can be repeated: each is one variant.
    #[arg(long, value_name = "NAME=VALUE")]
    pub(super) env: Vec<String>,
    /// Image of the workers. Must be set twice: the first image is the baseline.
    #[arg(long, conflicts_with_all = ["env", "library", "inject"])]
    pub(super) image: Vec<String>,
    /// Directory with another version of the transport's library. Can be repeated: each is one variant.
    #[arg(long, value_name = "DIR")]
    pub(super) library: Vec<String>,
    /// Size of the largest message that is sent with an inject call (FI_INJECT).
    #[arg(long, value_name = "BYTES", num_args = 0..=1, default_missing_value = "1Ki")]
    pub(super) inject: Option<String>,
    /// Benchmark command that is measured in place of the built-in workloads, such as 'ib_write_bw -p {port} -s {size}'. The
    /// client gets {server}, the address of the server, as its last argument. If the server and the client have different
    /// arguments, set this twice. A command with neither {port} nor {server} is a client without a server.
    #[arg(long, value_name = "COMMAND", conflicts_with = "inject")]
    pub(super) command: Vec<String>,
    /// Number of machines. Every pair of them is measured, to find the slow ones. all: you enter the number in the file.
    #[arg(long, value_name = "all|COUNT")]
    pub(super) nodes: Option<String>,
    /// Library that transfers the data: tcp, shm, efa or another provider of libfabric; ucx, nixl, verbs or loopback.
    #[arg(long)]
    pub(super) transport: Option<String>,
    /// Where the workers run. Defaults to this-machine.
    #[arg(long, value_enum)]
    pub(super) on: Option<Place>,
}

/// Where the workers run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(super) enum Place {
    /// All workers on this machine.
    #[default]
    ThisMachine,
    /// One worker on each of several machines that are reached with ssh or another launcher.
    Machines,
    /// Pods on p5 nodes of a Kubernetes cluster.
    P5,
}

/// The question.
#[derive(Debug)]
pub(super) struct Question {
    /// Image of the baseline.
    pub(super) baseline_image: Option<String>,
    /// Variants other than the baseline.
    pub(super) variants: Vec<Variant>,
    pub(super) workload: Workload,
    pub(super) transport: Transport,
    pub(super) place: Place,
    pub(super) nodes: Option<Nodes>,
}

/// How a variant differs from the baseline.
#[derive(Debug)]
pub(super) struct Variant {
    pub(super) name: String,
    pub(super) setting: Setting,
}

/// Setting of a variant.
#[derive(Debug)]
pub(super) enum Setting {
    Env(Vec<(String, String)>),
    Image(String),
    Library(String),
    /// Size of the largest message.
    Inject(Size),
}

/// What is measured.
#[derive(Debug)]
pub(super) enum Workload {
    /// Latency and throughput of the built-in workloads, and sizes of small messages to measure.
    BuiltIn(Vec<Size>),
    Command {
        tool: CommandTool,
        server: Vec<String>,
        client: Vec<String>,
    },
}

/// Library that transfers the data.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Transport {
    Libfabric(LibfabricProvider),
    Ucx,
    Nixl,
    Verbs,
    Loopback,
}

/// Number of machines whose pairs are all measured.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Nodes {
    All,
    Count(u32),
}

/// Small messages that are measured unless a flag says otherwise, in bytes.
const SMALL: [u64; 4] = [64, 256, 1024, 4096];

impl Flags {
    /// Whether a flag says what is measured.
    pub(super) fn has_subject(&self) -> bool {
        let lists = [&self.env, &self.image, &self.library, &self.command];
        lists.iter().any(|list| !list.is_empty()) || self.inject.is_some() || self.nodes.is_some()
    }

    /// Name of a run that answers the question.
    pub(super) fn default_name(&self) -> &'static str {
        let names = [
            (!self.env.is_empty(), "env"),
            (!self.image.is_empty(), "images"),
            (!self.library.is_empty(), "library"),
            (self.inject.is_some(), "inject"),
            (!self.command.is_empty(), "command"),
        ];
        names
            .into_iter()
            .find(|(is_set, _)| *is_set)
            .map_or("nodes", |(_, name)| name)
    }

    /// Command line with these flags, on one line.
    pub(super) fn command_line(&self, more: &[(&str, &Option<String>)]) -> String {
        let lists = [
            ("--env", &self.env),
            ("--image", &self.image),
            ("--library", &self.library),
            ("--command", &self.command),
        ];
        let lists = lists
            .into_iter()
            .flat_map(|(flag, values)| values.iter().map(move |value| (flag, value.clone())));
        let place = self.on.and_then(|place| place.to_possible_value());
        let place = place.map(|value| value.get_name().to_owned());
        let single = [
            ("--inject", &self.inject),
            ("--nodes", &self.nodes),
            ("--transport", &self.transport),
            ("--on", &place),
        ];
        let single = single
            .iter()
            .chain(more)
            .filter_map(|(flag, value)| Some((*flag, (*value).clone()?)));
        let words = lists.chain(single).map(|(flag, value)| {
            let value = value.replace(char::is_control, " ");
            format!(" {flag} {}", shlex::try_quote(&value).unwrap_or_default())
        });
        format!("fabricbench init{}", words.collect::<String>())
    }

    /// Checks the flags and converts them to a question.
    ///
    /// # Errors
    /// Returns the flag that is invalid, the reason and a remedy.
    pub(super) fn question(&self) -> Result<Question, String> {
        let place = self.on.unwrap_or_default();
        let (baseline_image, variants) = match self.image.as_slice() {
            [] => (None, self.variants()?),
            [first, second] if place == Place::P5 => {
                let setting = Setting::Image(second.clone());
                let name = "other-image".to_owned();
                (Some(first.clone()), vec![Variant { name, setting }])
            }
            [_, _] => return Err("--image: only pods have images. Add `--on p5`".to_owned()),
            images => {
                let count = images.len();
                return Err(format!(
                    "--image: {count} given. Two are compared: `--image A --image B`"
                ));
            }
        };
        Ok(Question {
            baseline_image,
            variants,
            workload: self.workload()?,
            transport: self.transport(place)?,
            place,
            nodes: self.nodes(place)?,
        })
    }

    fn variants(&self) -> Result<Vec<Variant>, String> {
        let mut variants: Vec<Variant> = Vec::new();
        let mut add = |name: &str, setting| {
            let name = label(name);
            let is_taken = |name: &str| variants.iter().any(|variant| variant.name == name);
            let numbered = (2..).map(|number| format!("{name}-{number}"));
            let free = std::iter::once(name.clone())
                .chain(numbered)
                .find(|name| !is_taken(name));
            variants.push(Variant {
                name: free.unwrap_or(name),
                setting,
            });
        };
        for text in &self.env {
            let words = shlex::split(text)
                .ok_or_else(|| format!("--env: the quotation marks in {text} do not match"))?;
            let pairs = words.iter().map(|word| word.split_once('='));
            let pairs: Option<Vec<(&str, &str)>> = pairs.collect();
            let pairs = pairs.filter(|pairs| !pairs.is_empty());
            let pairs = pairs.ok_or_else(|| format!("--env: `{text}` is not NAME=VALUE, such as FI_X=1"))?;
            let pairs = pairs
                .into_iter()
                .map(|(name, value)| (name.to_owned(), value.to_owned()));
            add(text, Setting::Env(pairs.collect()));
        }
        for directory in &self.library {
            if !Path::new(directory).is_absolute() {
                return Err(format!(
                    "--library: {directory} is not an absolute path, such as /opt/libfabric-2.5/lib"
                ));
            }
            add("other-library", Setting::Library(directory.clone()));
        }
        if let Some(largest) = self.largest_injected()? {
            add("inject", Setting::Inject(largest));
        }
        Ok(variants)
    }

    /// Size of the largest message that is injected.
    fn largest_injected(&self) -> Result<Option<Size>, String> {
        let size = self.inject.as_deref().map(str::parse::<Size>).transpose();
        size.map_err(|error| format!("--inject: {error}"))
    }

    fn workload(&self) -> Result<Workload, String> {
        let words = |text: &String| match shlex::split(text) {
            Some(words) if !words.is_empty() => Ok(words),
            _ => Err(format!(
                "--command: `{text}` is empty, or its quotation marks do not match"
            )),
        };
        let (server, client) = match self.command.as_slice() {
            [] => {
                // With many pairs, each further size takes as long as a whole measurement of the nodes.
                let usual = if self.nodes.is_some() {
                    SMALL.get(..1)
                } else {
                    Some(SMALL.as_slice())
                };
                let usual = usual.unwrap_or_default().iter().copied().map(Size);
                let mut sizes: Vec<Size> = usual.chain(self.largest_injected()?).collect();
                sizes.sort_unstable();
                sizes.dedup();
                return Ok(Workload::BuiltIn(sizes));
            }
            [one] if !one.contains("{port}") && !one.contains("{server}") => (Vec::new(), words(one)?),
            [both] => {
                let (server, mut client) = (without_address(&words(both)?)?, words(both)?);
                if server.len() == client.len() {
                    client.push("{server}".to_owned());
                }
                (server, client)
            }
            [server, client] => (words(server)?, words(client)?),
            _ => {
                return Err("--command: set it once, or twice: for the server and for the client".to_owned());
            }
        };
        let program = client.first().map(Path::new).and_then(Path::file_name);
        let program = program.unwrap_or_default().to_string_lossy();
        let tools = CommandTool::ALL.map(|tool| (tool, format!("{tool:?}")));
        let named = nearest(&program, tools.iter().map(|(_, name)| name.as_str()));
        let tool = tools.iter().find(|(_, name)| Some(name.as_str()) == named);
        let tool = tool.map_or(CommandTool::Regex, |(tool, _)| *tool);
        Ok(Workload::Command { tool, server, client })
    }

    fn transport(&self, place: Place) -> Result<Transport, String> {
        let Some(name) = &self.transport else {
            return Ok(self.default_transport(place));
        };
        let transport: Transport = name.parse().map_err(|error| format!("--transport: {error}"))?;
        let needs_one_machine = matches!(
            transport,
            Transport::Loopback | Transport::Libfabric(LibfabricProvider::Shm)
        );
        match needs_one_machine && place != Place::ThisMachine {
            true => Err(format!(
                "--transport: {name} connects only processes of one machine. Use --on this-machine, or tcp"
            )),
            false => Ok(transport),
        }
    }

    /// Transport that reads the variables, or else the usual one.
    fn default_transport(&self, place: Place) -> Transport {
        let starts_with = |prefix: &str| self.env.iter().any(|text| text.starts_with(prefix));
        match place {
            _ if starts_with("UCX_") => Transport::Ucx,
            _ if starts_with("NIXL_") => Transport::Nixl,
            Place::P5 => Transport::Libfabric(LibfabricProvider::Efa),
            Place::ThisMachine | Place::Machines => Transport::Libfabric(LibfabricProvider::Tcp),
        }
    }

    fn nodes(&self, place: Place) -> Result<Option<Nodes>, String> {
        let Some(text) = &self.nodes else {
            return Ok(None);
        };
        let nodes = match text.as_str() {
            "all" => Nodes::All,
            count => match count.parse() {
                Ok(count @ 2..=64) => Nodes::Count(count),
                _ => {
                    return Err(format!(
                        "--nodes: `{count}` is neither `all` nor a number from 2 to 64"
                    ));
                }
            },
        };
        match place {
            Place::ThisMachine => Err(
                "--nodes: workers on one machine are not different nodes. Add `--on machines` or `--on p5`"
                    .to_owned(),
            ),
            Place::Machines | Place::P5 => Ok(Some(nodes)),
        }
    }
}

/// The arguments without the address of the server.
///
/// # Errors
/// Returns a message if the address is the value of an option, because the option would remain without a value.
fn without_address(words: &[String]) -> Result<Vec<String>, String> {
    let is_address = |word: &&String| word.contains("{server}");
    let mut pairs = words.windows(2);
    let option = pairs.find(|pair| pair[0].starts_with('-') && is_address(&&pair[1]));
    match option {
        Some(pair) => Err(format!(
            "--command: the server would have the option {} without a value. Set --command twice: the command of the \
             server and that of the client",
            pair[0]
        )),
        None => Ok(words.iter().filter(|word| !is_address(word)).cloned().collect()),
    }
}

/// Converts a text to the name of a variant: a DNS label.
fn label(text: &str) -> String {
    let lower = text.to_ascii_lowercase();
    let words = lower
        .split(|c: char| !c.is_ascii_alphanumeric())
        .filter(|word| !word.is_empty());
    let name = words.collect::<Vec<_>>().join("-");
    // Names that start with `control` are reserved. Three characters remain for a number.
    let name = if name.starts_with("control") {
        format!("with-{name}")
    } else {
        name
    };
    name.chars()
        .take(37)
        .collect::<String>()
        .trim_end_matches('-')
        .to_owned()
}

impl FromStr for Transport {
    type Err = String;

    fn from_str(name: &str) -> Result<Self, String> {
        let others = [Self::Ucx, Self::Nixl, Self::Verbs, Self::Loopback];
        let providers = LibfabricProvider::ALL.map(Self::Libfabric);
        let known: Vec<Self> = others.into_iter().chain(providers).collect();
        let names: Vec<String> = known.iter().map(Self::to_string).collect();
        known
            .into_iter()
            .find(|transport| transport.to_string() == name)
            .ok_or_else(|| {
                let suggestion = did_you_mean(name, names.iter().map(String::as_str));
                format!(
                    "`{name}` is not a transport.{suggestion} Use one of {}",
                    names.join(", ")
                )
            })
    }
}

impl fmt::Display for Transport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Libfabric(provider) => provider.name(),
            Self::Ucx => "ucx",
            Self::Nixl => "nixl",
            Self::Verbs => "verbs",
            Self::Loopback => "loopback",
        })
    }
}
