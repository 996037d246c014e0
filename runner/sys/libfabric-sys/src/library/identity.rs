//! What a library file is: read from the file itself, before and after the loader takes it. File reads
//! only; nothing of the library runs.

use super::error::{NotALibrarySnafu, OpenError, ReadSnafu, WrongArchitectureSnafu};
use object::read::elf::{Dyn, ElfFile64, FileHeader};
use object::{Architecture, Endianness, Object, elf};
use sha2::{Digest, Sha256};
use snafu::ResultExt;
use std::fs::File;
use std::io::Read;
use std::path::Path;

/// A libfabric with every provider linked in is a few megabytes; more than this is something else.
const MOST_BYTES: u64 = 256 << 20;

/// What the file says of itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct ElfFacts {
    pub soname: Option<String>,
    pub needed: Vec<String>,
    /// The GNU build ID where the linker wrote one, else the SHA-256 of the file (PyPI wheels have no ID).
    pub build: String,
}

impl ElfFacts {
    /// Whether it was linked against musl.
    pub(super) fn is_musl(&self) -> bool {
        self.needed.iter().any(|name| name.starts_with("libc.musl"))
    }
}

/// Reads the facts, and refuses what this processor cannot load.
pub(super) fn read_elf(path: &Path) -> Result<ElfFacts, OpenError> {
    let mut data = Vec::new();
    File::open(path)
        .and_then(|file| file.take(MOST_BYTES).read_to_end(&mut data))
        .context(ReadSnafu { path })?;
    let not_a_library = |detail: String| NotALibrarySnafu { path, detail }.build();
    let kind = object::FileKind::parse(&*data).map_err(|_| not_a_library("no ELF header".to_owned()))?;
    if kind != object::FileKind::Elf64 {
        return WrongArchitectureSnafu {
            path,
            found: format!("{kind:?}"),
        }
        .fail();
    }
    let library = ElfFile64::<Endianness>::parse(&*data).map_err(|e| not_a_library(e.to_string()))?;
    if Some(library.architecture()) != own_architecture() {
        return WrongArchitectureSnafu {
            path,
            found: format!("{:?}", library.architecture()),
        }
        .fail();
    }
    if library.elf_header().e_type(library.endian()) != elf::ET_DYN {
        return Err(not_a_library("an ELF file of another type".to_owned()));
    }
    facts(&library).map_err(|e| not_a_library(e.to_string()))
}

/// Sections rather than segments: a stripped library keeps `.dynamic`, and names come with its string table.
fn facts(library: &ElfFile64<'_, Endianness>) -> Result<ElfFacts, object::Error> {
    let (endian, data) = (library.endian(), library.data());
    let build = match library.build_id()? {
        Some(id) => format!("build-id:{}", hex(id)),
        None => format!("sha256:{}", hex(&Sha256::digest(data))),
    };
    let sections = library.elf_section_table();
    let mut facts = ElfFacts {
        soname: None,
        needed: Vec::new(),
        build,
    };
    let Some((entries, strings)) = sections.dynamic(endian, data)? else {
        return Ok(facts);
    };
    let strings = sections.strings(endian, data, strings)?;
    let text = |entry: &elf::Dyn64<Endianness>| {
        entry
            .string(endian, strings)
            .map(|name| String::from_utf8_lossy(name).into_owned())
    };
    for entry in entries {
        match entry.tag32(endian) {
            Some(elf::DT_SONAME) => facts.soname = Some(text(entry)?),
            Some(elf::DT_NEEDED) => facts.needed.push(text(entry)?),
            _ => {}
        }
    }
    Ok(facts)
}

/// `None` on a processor for which no library would be accepted.
fn own_architecture() -> Option<Architecture> {
    match std::env::consts::ARCH {
        "x86_64" => Some(Architecture::X86_64),
        "aarch64" => Some(Architecture::Aarch64),
        _ => None,
    }
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_file_is_not_a_library() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("libfabric.so.1");
        std::fs::write(&path, "INPUT(libfabric.so.1.19)").unwrap();
        assert!(matches!(read_elf(&path), Err(OpenError::NotALibrary { .. })));
    }

    #[test]
    fn a_library_of_another_processor_is_refused_by_its_header() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("libfabric.so.1");
        let mut header = vec![0_u8; 64];
        header[..8].copy_from_slice(&[0x7f, b'E', b'L', b'F', 2, 1, 1, 0]);
        header[16] = 3; // ET_DYN
        header[18] = 0xf3; // EM_RISCV
        header[20] = 1;
        header[52] = 64;
        std::fs::write(&path, header).unwrap();
        let error = read_elf(&path).unwrap_err();
        assert!(matches!(error, OpenError::WrongArchitecture { .. }), "{error}");
        assert!(error.to_string().contains("Riscv64"), "{error}");
    }

    #[test]
    fn musl_is_seen_by_the_name_of_its_c_library() {
        let facts = |name: &str| ElfFacts {
            soname: None,
            needed: vec![name.to_owned()],
            build: String::new(),
        };
        assert!(facts("libc.musl-x86_64.so.1").is_musl());
        assert!(!facts("libc.so.6").is_musl());
    }

    #[test]
    fn this_program_reads_itself() {
        // The test binary is a position-independent executable: ET_DYN, dynamic section, glibc.
        let facts = read_elf(&std::env::current_exe().unwrap()).unwrap();
        assert!(facts.needed.iter().any(|name| name == "libc.so.6"), "{facts:?}");
    }
}
