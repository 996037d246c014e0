//! A rule, which recognizes the lines with one text of one library.

use crds::record::LogLineKind;

/// Rule for the lines that contain a text.
#[derive(Clone, Copy, Debug)]
pub struct Rule {
    /// Name within the rules of the library.
    pub name: &'static str,
    /// Text that the line contains. `*` stands for any text, and `{}` for a text that contains the names.
    pub pattern: &'static str,
    /// What the line shows. `None` if it affects neither the data path nor the values.
    pub kind: Option<LogLineKind>,
    /// Names of the transports, providers, plug-ins or devices that the line is about.
    pub names: Names,
    /// File of the library's source that prints the line.
    pub source: &'static str,
}

/// Where the names of a line come from.
#[derive(Clone, Copy, Debug)]
pub enum Names {
    /// The line names nothing.
    None,
    /// The line has a fixed meaning.
    Fixed(&'static [&'static str]),
    /// The text of `{}` is one name.
    Captured,
    /// The text of `{}` contains names in quotation marks.
    Quoted,
    /// The text of `{}` contains lanes of UCX, such as `tag(rc_mlx5/mlx5_0:1 tcp/eth0)`. The names are the transports.
    Lanes,
}

impl Names {
    /// The names in `captured`, the text of `{}`.
    pub(super) fn read(self, captured: &str) -> Vec<String> {
        match self {
            Self::None => Vec::new(),
            Self::Fixed(names) => names.iter().map(|&name| name.to_owned()).collect(),
            Self::Captured if captured.is_empty() => Vec::new(),
            Self::Captured => vec![captured.to_owned()],
            Self::Quoted => {
                let quoted = captured.split('\'').skip(1).step_by(2);
                quoted.map(str::to_owned).collect()
            }
            Self::Lanes => super::ucx::transports(captured),
        }
    }
}

/// Creates a rule for lines with evidence.
pub(super) const fn rule(
    name: &'static str,
    kind: LogLineKind,
    names: Names,
    pattern: &'static str,
    source: &'static str,
) -> Rule {
    Rule {
        name,
        pattern,
        kind: Some(kind),
        names,
        source,
    }
}

/// Creates a rule for lines that affect neither the data path nor the values.
pub(super) const fn harmless(name: &'static str, pattern: &'static str, source: &'static str) -> Rule {
    Rule {
        name,
        pattern,
        kind: None,
        names: Names::None,
        source,
    }
}
