//! The process that answers a question about loaded files: reads the files, opens libfabric and UCX from the same files,
//! and asks them for their variables. Performs I/O and loads libraries.

use std::collections::BTreeSet;
use std::fs::File;
use std::io::{self, Read, Write};
use std::path::Path;

use crds::record::{LoadedFile, VariableFacts, hex};
use sha2::{Digest, Sha256};

use super::judge::{LoadedNames, Table, judge};
use super::owner::Owner;
use super::query::{Answer, OVERRIDDEN, Question};
use super::strings;
use super::tables::{fabric_variables, ucx_variables};
use crate::transport::ucx;

/// Maximum size of a question, in bytes.
const MAX_QUESTION_BYTES: u64 = 1 << 20;
/// Maximum size of a file that is read.
const MAX_FILE_BYTES: u64 = 2 << 30;
/// Prefixes of the variables of libraries that contain the names of their variables.
const PREFIXES: [&str; 8] = [
    "OFI_NCCL_",
    "NCCL_",
    "NIXL_",
    "MC_",
    "RDMAV_",
    "IBV_",
    "MLX5_",
    "MLX4_",
];

/// Reads a question from standard input, and writes the answer as the last line of standard output.
///
/// # Errors
/// Returns an error if the question cannot be read, or the answer cannot be written.
pub fn run() -> io::Result<()> {
    let mut text = String::new();
    io::stdin().take(MAX_QUESTION_BYTES).read_to_string(&mut text)?;
    let question: Question = serde_json::from_str(&text)?;
    let answer = serde_json::to_string(&answer(&question))?;
    let mut out = io::stdout();
    writeln!(out, "\n{answer}")?;
    out.flush()
}

fn answer(question: &Question) -> Answer {
    let mut loaded = LoadedNames {
        incomplete: question.incomplete.clone(),
        ..LoadedNames::default()
    };
    let mut files = Vec::with_capacity(question.files.len());
    for path in &question.files {
        let sha256 = match read(path) {
            Ok(bytes) => {
                search(path, &bytes, &question.names, &mut loaded);
                Some(hex(&Sha256::digest(&bytes)))
            }
            Err(error) => {
                loaded
                    .incomplete
                    .get_or_insert_with(|| format!("{path} cannot be read: {error}"));
                None
            }
        };
        loaded.files.insert(file_name(path).to_owned());
        files.push(LoadedFile {
            path: path.clone(),
            sha256,
            version: None,
        });
    }
    if question.opens_libraries {
        ask_libfabric(&mut files, &mut loaded);
        ask_ucx(&mut files, &mut loaded);
    }
    let provider = question.provider.as_deref();
    let facts = |name: &String| {
        let facts = judge(name, &loaded, provider);
        let is_overridden = OVERRIDDEN.contains(&name.as_str());
        VariableFacts {
            effective: facts.effective.filter(|_| !is_overridden),
            ..facts
        }
    };
    Answer {
        variables: question.names.iter().map(facts).collect(),
        files_sha256: loaded.incomplete.is_none().then(|| hash_of(&files)).flatten(),
        files,
    }
}

fn file_name(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or(path)
}

fn read(path: &str) -> io::Result<Vec<u8>> {
    let file = File::open(path)?;
    let length = file.metadata()?.len();
    if length > MAX_FILE_BYTES {
        return Err(io::Error::other(format!(
            "it is larger than {MAX_FILE_BYTES} bytes"
        )));
    }
    let mut bytes = Vec::new();
    file.take(MAX_FILE_BYTES).read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// Adds the names in the file at `path` to `loaded`.
fn search(path: &str, bytes: &[u8], names: &[String], loaded: &mut LoadedNames) {
    // This binary contains the names of variables that it only passes on.
    let is_runner = std::env::current_exe().is_ok_and(|own| own == Path::new(path));
    if is_runner {
        return;
    }
    let result = strings::search(bytes, names, &PREFIXES);
    let file = file_name(path);
    for name in names {
        let may_be_assembled = || {
            let owner = Owner::of_variable(name).filter(|owner| owner.contains_names());
            owner.is_some_and(|owner| owner.has_file(file)) && strings::may_be_assembled(bytes, name)
        };
        if result.found.contains(name) || may_be_assembled() {
            loaded
                .found
                .entry(name.clone())
                .or_insert_with(|| path.to_owned());
        }
    }
    loaded.with_prefix.extend(result.with_prefix);
}

/// Hash of the list of files; `None` if one of them could not be read.
fn hash_of(files: &[LoadedFile]) -> Option<String> {
    let lines: Option<BTreeSet<String>> = files
        .iter()
        .map(|file| Some(format!("{}  {}\n", file.sha256.as_ref()?, file_name(&file.path))))
        .collect();
    let text: String = lines?.into_iter().collect();
    Some(hex(&Sha256::digest(text.as_bytes())))
}

/// Opens the loaded libfabric, and adds its variables to `loaded`.
fn ask_libfabric(files: &mut [LoadedFile], loaded: &mut LoadedNames) {
    let is_libfabric = |file: &&mut LoadedFile| Owner::Libfabric.has_file(file_name(&file.path));
    let Some(file) = files.iter_mut().find(is_libfabric) else {
        return;
    };
    let source = libfabric_sys::Source::Path(file.path.clone().into());
    let Ok(library) = libfabric_sys::Library::open(&source) else {
        return;
    };
    let version = library.identity().version.to_string();
    let parameters = library.parameters();
    if !parameters.is_empty() {
        loaded.libfabric = Some(Table {
            library: format!("libfabric {version} ({})", file.path),
            variables: fabric_variables(&parameters),
        });
    }
    file.version = Some(version);
}

/// Opens the loaded UCX with its loaded modules, and adds its settings to `loaded`.
fn ask_ucx(files: &mut [LoadedFile], loaded: &mut LoadedNames) {
    let is_ucp = |file: &&mut LoadedFile| file_name(&file.path).starts_with("libucp");
    let modules: Vec<String> = files
        .iter()
        .map(|file| file.path.clone())
        .filter(|path| file_name(path).starts_with("libuct_"))
        .collect();
    let Some(file) = files.iter_mut().find(is_ucp) else {
        return;
    };
    let Some(settings) = ucx::list_settings(Path::new(&file.path), &modules) else {
        return;
    };
    let release = settings.version;
    loaded.ucx = Some(Table {
        library: format!("UCX {release} ({})", file.path),
        variables: ucx_variables(&settings.list, &settings.warning),
    });
    file.version = Some(release);
}
