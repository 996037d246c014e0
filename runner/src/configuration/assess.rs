//! The process that answers a question about loaded files: reads the files, opens libfabric and UCX from the same files,
//! and asks them for their variables. Performs I/O and loads libraries.

use std::collections::BTreeSet;
use std::fs::File;
use std::io::{self, Read, Write};
use std::path::Path;

use crds::libraries::Library;
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
    let prefixes: Vec<&str> = Library::all()
        .flat_map(|library| library.prefixes)
        .copied()
        .collect();
    let result = strings::search(bytes, names, &prefixes);
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

#[cfg(test)]
mod tests {
    use std::fs;

    use crds::record::VariableKnowledge;

    use super::*;

    /// Answers a question about files with these names and contents, without opening libraries.
    fn answer_for(files: &[(&str, &[u8])], names: &[&str], incomplete: Option<&str>) -> Answer {
        let directory = tempfile::tempdir().unwrap();
        let paths = files.iter().map(|(name, bytes)| {
            let path = directory.path().join(name);
            fs::write(&path, bytes).unwrap();
            path.to_str().unwrap().to_owned()
        });
        answer(&Question {
            files: paths.collect(),
            names: names.iter().map(|name| (*name).to_owned()).collect(),
            incomplete: incomplete.map(str::to_owned),
            ..Question::default()
        })
    }

    #[test]
    fn nccl_and_its_plug_in_know_the_names_that_they_contain() {
        let nccl = b"\x7fELF\0NCCL_DEBUG\0NCCL_IB_HCA\0NCCL_PROTO\0";
        let plug_in = b"\x7fELF\0OFI_NCCL_PROTOCOL\0OFI_NCCL_DISABLE_GDR_REQUIRED_CHECK\0";
        let files: [(&str, &[u8]); 2] = [("libnccl.so.2", nccl), ("libnccl-net-ofi.so", plug_in)];
        let names = [
            "NCCL_PROTO",
            "NCCL_IB_HAC",
            "OFI_NCCL_PROTOCOL",
            "OFI_NCCL_PROTOCOLL",
            "MY_APP_X",
            "UCX_TLS",
        ];
        let answer = answer_for(&files, &names, None);
        let found: Vec<_> = answer
            .variables
            .iter()
            .map(|facts| (facts.knowledge, facts.nearest.as_deref()))
            .collect();
        assert_eq!(
            found,
            [
                (VariableKnowledge::Known, None),
                (VariableKnowledge::Unknown, Some("NCCL_IB_HCA")),
                (VariableKnowledge::Known, None),
                (VariableKnowledge::Unknown, Some("OFI_NCCL_PROTOCOL")),
                (VariableKnowledge::Unassessed, None),
                (VariableKnowledge::NotLoaded, None),
            ]
        );
        // printf '…  libnccl-net-ofi.so\n…  libnccl.so.2\n' | sort | sha256sum, with the hash of each file.
        let lines: BTreeSet<String> = files
            .iter()
            .map(|(name, bytes)| format!("{}  {name}\n", hex(&Sha256::digest(bytes))))
            .collect();
        let expected = hex(&Sha256::digest(lines.into_iter().collect::<String>().as_bytes()));
        assert_eq!(answer.files_sha256, Some(expected));
    }

    #[test]
    fn an_incomplete_list_has_no_hash_and_proves_no_absence() {
        let answer = answer_for(
            &[("tool", b"MY_APP_X\0")],
            &["MY_APP_X", "NCCL_ALGO"],
            Some("it is a script"),
        );
        let knowledge: Vec<_> = answer.variables.iter().map(|facts| facts.knowledge).collect();
        assert_eq!(
            knowledge,
            [VariableKnowledge::Known, VariableKnowledge::Unassessed]
        );
        assert_eq!(answer.files_sha256, None);
    }

    #[test]
    fn a_file_that_cannot_be_read_leaves_the_list_incomplete() {
        let answer = answer(&Question {
            files: vec!["/nowhere/libfabric.so.1".to_owned()],
            names: vec!["NCCL_ALGO".to_owned(), "FI_PROVIDER".to_owned()],
            opens_libraries: true,
            ..Question::default()
        });
        let knowledge: Vec<_> = answer.variables.iter().map(|facts| facts.knowledge).collect();
        assert_eq!(knowledge, [VariableKnowledge::Unassessed; 2]);
        assert_eq!(answer.files_sha256, None);
    }
}
