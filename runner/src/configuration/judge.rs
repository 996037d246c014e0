//! Decides what is known about a variable. Performs no I/O.

use std::collections::{BTreeMap, BTreeSet};

use crds::record::{VariableFacts, VariableKnowledge};
use crds::suggestion::nearest;
use sha2::{Digest, Sha256};

use super::owner::Owner;
use super::tables::{FabricVariable, UcxVariables};
use crate::output::bounded;

/// Maximum length of an effective value, in bytes. A longer value is replaced with its hash.
const MAX_VALUE_BYTES: usize = 160;
/// Maximum length of a reason, in bytes.
const MAX_REASON_BYTES: usize = 320;
/// Providers of libfabric that use no other provider than those in their own name, except that efa uses shm within a
/// node. A variable of another provider cannot have an effect on them.
const SELF_CONTAINED: [&str; 9] = [
    "tcp", "net", "udp", "sockets", "shm", "sm2", "verbs", "ofi_rxm", "efa",
];
/// Names of libfabric's providers in variable names (2.6).
const PROVIDERS: [&str; 18] = [
    "EFA", "VERBS", "PSM2", "PSM3", "PSM", "OPX", "CXI", "GNI", "UCX", "LNX", "LPP", "MLX", "USNIC", "TCP",
    "NET", "UDP", "SHM", "SM2",
];

/// What the loaded files are known to contain.
#[derive(Clone, Debug, Default)]
pub(super) struct LoadedNames {
    /// Names of the loaded files, without directories.
    pub files: BTreeSet<String>,
    /// Variables whose names were found, each with the path of the file.
    pub found: BTreeMap<String, String>,
    /// Strings in the files of named libraries that start with one of their prefixes.
    pub with_prefix: BTreeSet<String>,
    /// libfabric and its variables; `None` if it is not loaded or could not be asked.
    pub libfabric: Option<Table<BTreeMap<String, FabricVariable>>>,
    /// UCX and its settings; `None` if it is not loaded or could not be asked.
    pub ucx: Option<Table<UcxVariables>>,
    /// Why files may be missing from `files`; `None` if all are known.
    pub incomplete: Option<String>,
}

/// Variables of one library.
#[derive(Clone, Debug)]
pub(super) struct Table<T> {
    /// Name and release of the library, with its path.
    pub library: String,
    /// The variables.
    pub variables: T,
}

/// Decides what is known about the variable `name`. `provider` is libfabric's provider that the process uses, if it is
/// known.
pub(super) fn judge(name: &str, loaded: &LoadedNames, provider: Option<&str>) -> VariableFacts {
    let answer = match Owner::of_variable(name) {
        Some(Owner::Libfabric) if loaded.libfabric.is_some() => loaded
            .libfabric
            .as_ref()
            .map(|table| libfabric(name, table, provider)),
        Some(Owner::Ucx) if loaded.ucx.is_some() => loaded.ucx.as_ref().map(|table| ucx(name, table)),
        Some(owner) => Some(named(name, owner, loaded)),
        None => None,
    };
    // libfabric contains the names of some variables in its messages, also if the provider that reads them is not in use.
    let is_message = |path: &&String| {
        let file = path.rsplit('/').next().unwrap_or_default();
        let listed = loaded.libfabric.as_ref().map(|table| &table.variables);
        Owner::Libfabric.has_file(file)
            && listed.is_some_and(|listed| absent_provider(name, listed).is_some())
    };
    let found = loaded.found.get(name).filter(|path| !is_message(path));
    let answer = match (answer, found) {
        (Some(answer), _) if answer.knowledge == VariableKnowledge::Known => answer,
        (_, Some(path)) => Answer::new(VariableKnowledge::Known, format!("{path} contains the name")),
        (Some(answer), None) => answer,
        (None, None) => Answer::new(
            VariableKnowledge::Unassessed,
            "no loaded file contains the name, and its prefix belongs to none of the libraries that can be asked".into(),
        ),
    };
    VariableFacts {
        name: name.to_owned(),
        knowledge: answer.knowledge,
        effective: answer.effective.map(bounded_value),
        nearest: answer.nearest,
        reason: bounded(&answer.reason, MAX_REASON_BYTES),
    }
}

struct Answer {
    knowledge: VariableKnowledge,
    effective: Option<String>,
    nearest: Option<String>,
    reason: String,
}

impl Answer {
    fn new(knowledge: VariableKnowledge, reason: String) -> Self {
        Self {
            knowledge,
            effective: None,
            nearest: None,
            reason,
        }
    }
}

/// Replaces a long value with its hash, so that different values stay different.
fn bounded_value(value: String) -> String {
    if value.len() <= MAX_VALUE_BYTES {
        return bounded(&value, MAX_VALUE_BYTES);
    }
    let hash = crds::record::hex(&Sha256::digest(value.as_bytes()));
    let keep = value.floor_char_boundary(MAX_VALUE_BYTES / 2);
    bounded(
        &format!("{}… (SHA-256 {})", &value[..keep], &hash[..16]),
        MAX_VALUE_BYTES,
    )
}

fn libfabric(name: &str, table: &Table<BTreeMap<String, FabricVariable>>, used: Option<&str>) -> Answer {
    let Table { library, variables } = table;
    let Some(variable) = variables.get(name) else {
        let absent = absent_provider(name, variables).map_or_else(String::new, |provider| {
            format!(": this build has no provider {provider}, or the provider found no device")
        });
        return Answer {
            nearest: nearest(name, variables.keys().map(String::as_str)).map(str::to_owned),
            ..Answer::new(
                VariableKnowledge::Unknown,
                format!("{name} is not a variable of {library}{absent}"),
            )
        };
    };
    if let (Some(owner), Some(used)) = (&variable.provider, used)
        && !may_use(used, owner)
    {
        let own = |part: &str| name.replacen(&owner.to_ascii_uppercase(), &part.to_ascii_uppercase(), 1);
        let same = used.split(';').map(own).find(|own| variables.contains_key(own));
        return Answer {
            nearest: same,
            ..Answer::new(
                VariableKnowledge::NotLoaded,
                format!(
                    "{name} configures the provider {owner} of {library}, but the provider in use is {used}"
                ),
            )
        };
    }
    let of = variable
        .provider
        .as_ref()
        .map_or_else(String::new, |provider| format!("the provider {provider} of "));
    Answer {
        effective: variable.effective.clone(),
        ..Answer::new(VariableKnowledge::Known, format!("a variable of {of}{library}"))
    }
}

/// Name of the provider to which the variable belongs, if none of the provider's variables is in the table.
fn absent_provider(name: &str, variables: &BTreeMap<String, FabricVariable>) -> Option<String> {
    let rest = name.strip_prefix("FI_")?;
    let belongs = |provider: &&&str| {
        rest.strip_prefix(**provider)
            .is_some_and(|rest| rest.starts_with('_'))
    };
    let provider = PROVIDERS.iter().find(belongs)?;
    let prefix = format!("FI_{provider}_");
    let is_absent = !variables.keys().any(|known| known.starts_with(&prefix));
    is_absent.then(|| provider.to_ascii_lowercase())
}

/// Whether the provider `used`, as libfabric names it, may use the provider `owner`.
fn may_use(used: &str, owner: &str) -> bool {
    let mut parts = used.split(';');
    parts.any(|part| {
        part == owner
            || !SELF_CONTAINED.contains(&part)
            || !SELF_CONTAINED.contains(&owner)
            || (part == "efa" && owner == "shm")
    })
}

fn ucx(name: &str, table: &Table<UcxVariables>) -> Answer {
    let Table { library, variables } = table;
    match variables.listed.get(name) {
        Some(Some(value)) => {
            return Answer {
                effective: Some(value.clone()),
                ..Answer::new(VariableKnowledge::Known, format!("a setting of {library}"))
            };
        }
        Some(None) => {
            return Answer::new(
                VariableKnowledge::Unknown,
                format!("{name} is a deprecated setting, which {library} ignores"),
            );
        }
        None => {}
    }
    let settings = variables.settings_with_end(name);
    if !variables.unused.contains(name) && !settings.is_empty() {
        let values = settings.iter().map(|(name, value)| format!("{name}={value}"));
        return Answer {
            effective: Some(values.collect::<Vec<_>>().join(" ")),
            ..Answer::new(
                VariableKnowledge::Known,
                format!("a prefix of several settings of {library}"),
            )
        };
    }
    Answer {
        nearest: nearest(name, variables.listed.keys().map(String::as_str)).map(str::to_owned),
        ..Answer::new(
            VariableKnowledge::Unknown,
            format!("{name} is not a setting of {library} or of its loaded modules"),
        )
    }
}

/// Judges a variable whose library is not loaded, could not be asked, or does not list its variables.
fn named(name: &str, owner: Owner, loaded: &LoadedNames) -> Answer {
    let project = owner.project();
    let file = loaded.files.iter().find(|file| owner.has_file(file));
    match (file, &loaded.incomplete) {
        (Some(file), _) if owner.contains_names() => Answer {
            nearest: nearest(name, loaded.with_prefix.iter().map(String::as_str)).map(str::to_owned),
            ..Answer::new(
                VariableKnowledge::Unknown,
                format!("no loaded file contains the name {name}, and {file} of {project} is loaded"),
            )
        },
        (Some(file), _) => Answer::new(
            VariableKnowledge::Unassessed,
            format!("{file} of {project} is loaded, but does not list its variables"),
        ),
        // A program may contain a library that is linked statically. libfabric and UCX assemble the names of their
        // variables, so a single name that starts with the prefix is a sign of it.
        (None, None)
            if !owner.contains_names() && loaded.with_prefix.iter().any(|known| owner.owns(known)) =>
        {
            Answer::new(
                VariableKnowledge::Unassessed,
                format!(
                    "{project} is not loaded as a file of its own, but a loaded file mentions its variables"
                ),
            )
        }
        (None, None) => Answer::new(
            VariableKnowledge::NotLoaded,
            format!("{name} belongs to {project}, which is not loaded"),
        ),
        (None, Some(incomplete)) => Answer::new(
            VariableKnowledge::Unassessed,
            format!("{name} belongs to {project}, which is not among the known loaded files; {incomplete}"),
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn loaded() -> LoadedNames {
        let variable = |provider: Option<&str>, effective: Option<&str>| FabricVariable {
            provider: provider.map(str::to_owned),
            effective: effective.map(str::to_owned),
        };
        let variables = [
            ("FI_PROVIDER", variable(None, None)),
            ("FI_TCP_NODELAY", variable(Some("tcp"), Some("false"))),
            ("FI_NET_NODELAY", variable(Some("net"), None)),
            ("FI_SHM_TX_SIZE", variable(Some("shm"), Some("1024"))),
        ];
        LoadedNames {
            files: ["libfabric.so.1".to_owned(), "libnccl.so.2".to_owned()].into(),
            with_prefix: ["NCCL_IB_HCA".to_owned()].into(),
            libfabric: Some(Table {
                library: "libfabric 1.17.0".to_owned(),
                variables: variables
                    .map(|(name, variable)| (name.to_owned(), variable))
                    .into(),
            }),
            ..LoadedNames::default()
        }
    }

    #[test]
    fn a_misspelled_variable_is_unknown_with_the_nearest_name() {
        for (name, expected) in [
            ("FI_TCP_NODELAYY", Some("FI_TCP_NODELAY")),
            ("FI_PROVIDRE", Some("FI_PROVIDER")),
            ("NCCL_IB_HAC", Some("NCCL_IB_HCA")),
            ("FI_XYZZY", None),
        ] {
            let facts = judge(name, &loaded(), Some("tcp"));
            assert_eq!(facts.knowledge, VariableKnowledge::Unknown, "{name}");
            assert_eq!(facts.nearest.as_deref(), expected, "{name}");
            assert!(facts.reason.contains(name), "{}", facts.reason);
        }
    }

    #[test]
    fn a_variable_of_an_unused_provider_or_library_has_no_effect() {
        let facts = judge("FI_TCP_NODELAY", &loaded(), Some("net"));
        assert_eq!(facts.knowledge, VariableKnowledge::NotLoaded);
        assert_eq!(facts.nearest.as_deref(), Some("FI_NET_NODELAY"));
        assert_eq!(
            judge("UCX_TLS", &loaded(), None).knowledge,
            VariableKnowledge::NotLoaded
        );
        // A provider may use another one: efa uses shm, and ofi_mrail any.
        for used in ["efa", "ofi_mrail", "tcp;ofi_mrail", "shm"] {
            let facts = judge("FI_SHM_TX_SIZE", &loaded(), Some(used));
            assert_eq!(facts.knowledge, VariableKnowledge::Known, "{used}");
            assert_eq!(facts.effective.as_deref(), Some("1024"));
        }
        assert_eq!(
            judge("FI_TCP_NODELAY", &loaded(), None).knowledge,
            VariableKnowledge::Known
        );
        assert_eq!(
            judge("FI_TCP_NODELAY", &loaded(), Some("tcp;ofi_rxm")).knowledge,
            VariableKnowledge::Known
        );
    }

    #[test]
    fn an_absent_provider_is_named() {
        let facts = judge("FI_EFA_USE_DEVICE_RDMA", &loaded(), Some("tcp"));
        assert_eq!(facts.knowledge, VariableKnowledge::Unknown);
        assert!(facts.reason.contains("has no provider efa"), "{}", facts.reason);
        let facts = judge("FI_TCP_NODELAYY", &loaded(), Some("tcp"));
        assert!(!facts.reason.contains("has no provider"), "{}", facts.reason);
        // A message of the library that contains the name does not make the provider available.
        let name = "FI_EFA_USE_DEVICE_RDMA".to_owned();
        let mut mentioned = loaded();
        mentioned
            .found
            .insert(name.clone(), "/lib/libfabric.so.1".to_owned());
        assert_eq!(
            judge(&name, &mentioned, Some("tcp")).knowledge,
            VariableKnowledge::Unknown
        );
        mentioned.found.insert(name.clone(), "/bin/tool".to_owned());
        assert_eq!(
            judge(&name, &mentioned, Some("tcp")).knowledge,
            VariableKnowledge::Known
        );
    }

    #[test]
    fn what_cannot_be_determined_is_never_unknown() {
        assert_eq!(
            judge("MY_APP_X", &loaded(), None).knowledge,
            VariableKnowledge::Unassessed
        );
        let incomplete = LoadedNames {
            incomplete: Some("the command is a script".to_owned()),
            ..loaded()
        };
        assert_eq!(
            judge("UCX_TLS", &incomplete, None).knowledge,
            VariableKnowledge::Unassessed
        );
        let unanswered = LoadedNames {
            libfabric: None,
            ..loaded()
        };
        let facts = judge("FI_TCP_NODELAYY", &unanswered, None);
        assert_eq!(facts.knowledge, VariableKnowledge::Unassessed);
        let found = LoadedNames {
            found: [("FI_TCP_NODELAYY".to_owned(), "/opt/tool".to_owned())].into(),
            ..loaded()
        };
        let facts = judge("FI_TCP_NODELAYY", &found, None);
        assert_eq!(
            (facts.knowledge, facts.reason.as_str()),
            (VariableKnowledge::Known, "/opt/tool contains the name")
        );
    }

    #[test]
    fn a_library_that_may_be_linked_statically_is_not_called_absent() {
        let mut loaded = loaded();
        loaded.with_prefix.insert("UCX_TLS".to_owned());
        assert_eq!(
            judge("UCX_TLSS", &loaded, None).knowledge,
            VariableKnowledge::Unassessed
        );
        // libnccl is loaded, and names of NCCL are stored as they are.
        assert_eq!(
            judge("NCCL_TLSS", &loaded, None).knowledge,
            VariableKnowledge::Unknown
        );
    }

    #[test]
    fn settings_of_ucx_are_known_by_name_or_by_prefix() {
        let table = Table {
            library: "UCX 1.22.0".to_owned(),
            variables: UcxVariables {
                listed: [
                    ("UCX_TCP_TX_SEG_SIZE".to_owned(), Some("8K".to_owned())),
                    ("UCX_RC_VERBS_TIMEOUT".to_owned(), Some("1s".to_owned())),
                    ("UCX_TCP_MAX_SHORT".to_owned(), None),
                ]
                .into(),
                unused: ["UCX_TCP_TIMEOUT".to_owned(), "UCX_TCP_TX_SEG_SIZ".to_owned()].into(),
            },
        };
        let loaded = LoadedNames {
            ucx: Some(table),
            ..loaded()
        };
        let of = |name| judge(name, &loaded, None);
        assert_eq!(of("UCX_TCP_TX_SEG_SIZE").effective.as_deref(), Some("8K"));
        assert_eq!(
            of("UCX_RC_TIMEOUT").effective.as_deref(),
            Some("UCX_RC_VERBS_TIMEOUT=1s")
        );
        for name in [
            "UCX_TCP_TIMEOUT",
            "UCX_TCP_TX_SEG_SIZ",
            "UCX_TCP_MAX_SHORT",
            "UCX_NOTHING",
        ] {
            assert_eq!(of(name).knowledge, VariableKnowledge::Unknown, "{name}");
        }
        assert_eq!(
            of("UCX_TCP_TX_SEG_SIZ").nearest.as_deref(),
            Some("UCX_TCP_TX_SEG_SIZE")
        );
    }

    #[test]
    fn long_values_stay_different() {
        let value = |end: &str| bounded_value(format!("{}{end}", "x".repeat(1000)));
        assert_ne!(value("a"), value("b"));
        assert!(value("a").len() <= MAX_VALUE_BYTES);
    }
}
