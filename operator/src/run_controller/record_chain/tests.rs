//! Tests that records are read back unchanged, and that modified parts are rejected.

use k8s_openapi::ByteString;
use proptest::prelude::*;

use super::*;

fn run() -> BenchmarkRun {
    let demo = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../examples/demo.yaml");
    let mut run = manifest::load(&demo, None).unwrap().swap_remove(0);
    run.metadata.uid = Some("uid".to_owned());
    run
}

/// Appends each text, and writes the parts in the same order as the controller.
fn write_chain(texts: &[Vec<u8>]) -> (RecordChain, Vec<ConfigMap>) {
    let run = run();
    let mut chain = RecordChain::default();
    let mut objects: Vec<ConfigMap> = Vec::new();
    for text in texts {
        let (next, parts) = chain.appended(text).unwrap();
        for PartWrite { part, update } in parts {
            let number = part.number() as usize;
            assert_eq!(update, number < objects.len());
            match objects.get_mut(number) {
                Some(object) => {
                    assert_eq!(object.immutable, None, "a full part must not be written again");
                    *object = part.config_map(&run);
                }
                None => objects.push(part.config_map(&run)),
            }
        }
        chain = next;
    }
    (chain, objects)
}

fn read(objects: &[ConfigMap], expected: Option<&str>) -> Result<(RecordChain, Vec<u8>), ChainError> {
    let mut reader = ChainReader::new("uid", expected.map(str::to_owned));
    let mut lines = Vec::new();
    for object in objects {
        reader.read(object, |piece| lines.extend_from_slice(piece))?;
    }
    Ok((reader.finish()?, lines))
}

fn bytes(object: &mut ConfigMap) -> &mut Vec<u8> {
    let ByteString(bytes) = object.binary_data.as_mut().unwrap().values_mut().next().unwrap();
    bytes
}

/// Returns `length` bytes of incompressible data.
fn incompressible_bytes(length: usize, seed: u64) -> Vec<u8> {
    let mut state = seed | 1;
    let next = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        (state >> 56) as u8
    };
    std::iter::repeat_with(next).take(length).collect()
}

#[test]
fn reads_back_what_was_appended() {
    let texts = vec![b"one\n".to_vec(), b"two\nthree\n".to_vec()];
    let (chain, objects) = write_chain(&texts);
    let head = chain.reference("uid").unwrap();
    let (again, lines) = read(&objects, Some(&head.sha256)).unwrap();
    assert_eq!((again, lines), (chain, texts.concat()));
    assert!(head.reference.starts_with("configmap/fb-") && head.reference.ends_with("-records-0"));
}

#[test]
fn limits_the_size_of_parts_and_makes_full_parts_immutable() {
    let texts: Vec<_> = (0..9).map(|seed| incompressible_bytes(300_000, seed)).collect();
    let (chain, objects) = write_chain(&texts);
    assert_eq!((chain.parts(), objects.len()), (3, 3));
    for object in &objects {
        let size: usize = object
            .binary_data
            .iter()
            .flatten()
            .map(|(_, bytes)| bytes.0.len())
            .sum();
        assert!(size <= MAX_PART_BYTES, "{size}");
    }
    let immutable: Vec<_> = objects.iter().map(|object| object.immutable).collect();
    assert_eq!(immutable, [Some(true), Some(true), None]);
    let (again, lines) = read(&objects, None).unwrap();
    assert!(again == chain && lines == texts.concat());
}

#[test]
fn accepts_a_chain_that_continues_after_the_digest_in_the_status() {
    let (first, _) = write_chain(&[b"one\n".to_vec()]);
    let expected = first.reference("uid").unwrap().sha256;
    let (_, objects) = write_chain(&[b"one\n".to_vec(), b"two\n".to_vec()]);
    assert_eq!(read(&objects, Some(&expected)).unwrap().1, b"one\ntwo\n");
}

#[test]
fn rejects_missing_reordered_and_changed_parts() {
    let texts: Vec<_> = (0..9).map(|seed| incompressible_bytes(300_000, seed)).collect();
    let (chain, objects) = write_chain(&texts);
    let head = chain.reference("uid").unwrap().sha256;
    let error = |objects: &[ConfigMap]| read(objects, Some(&head)).unwrap_err().to_string();

    let swapped = [objects[0].clone(), objects[2].clone(), objects[1].clone()];
    assert!(error(&swapped).starts_with("part 1 of the records cannot be verified: it starts with"));
    assert!(error(&objects[..2]).contains("in the status: a ConfigMap with later records was deleted"));
    assert!(error(&objects[1..]).starts_with("part 0 of the records cannot be verified"));

    let mut changed = objects.clone();
    let middle = bytes(&mut changed[1]).len() / 2;
    bytes(&mut changed[1])[middle] ^= 1;
    assert!(error(&changed).starts_with("part 1 of the records cannot be verified"));

    let mut truncated = objects.clone();
    bytes(&mut truncated[1]).pop();
    assert!(error(&truncated).starts_with("part 1 of the records cannot be verified"));

    let mut empty = objects.clone();
    empty[2].binary_data = None;
    assert_eq!(error(&empty), "part 2 of the records has no key records.jsonl.gz");
}

#[test]
fn rejects_a_member_that_expands_beyond_the_limit() {
    let (_, mut objects) = write_chain(&[b"one\n".to_vec()]);
    *bytes(&mut objects[0]) = compress(&vec![b'x'; MAX_APPEND_BYTES + 1]).unwrap();
    let error = read(&objects, None).unwrap_err().to_string();
    assert!(error.contains("expands to more than"), "{error}");
}

/// Small members that expand to much more, of which a chain of 64 parts could hold tens of gigabytes.
#[test]
fn rejects_records_that_expand_beyond_the_limit() {
    let (_, objects) = write_chain(&[b"ab".to_vec()]);
    for (before, is_accepted) in [(MAX_RECORD_BYTES - 2, true), (MAX_RECORD_BYTES - 1, false)] {
        let chain = RecordChain {
            expanded: before,
            ..RecordChain::default()
        };
        assert_eq!(chain.appended(b"ab").is_ok(), is_accepted);
        let mut reader = ChainReader::new("uid", None);
        reader.expanded = before;
        let read = reader.read(&objects[0], |_| {
            assert!(is_accepted, "nothing is decompressed twice")
        });
        match read {
            Ok(()) => assert!(is_accepted),
            Err(error) => assert!(
                error
                    .to_string()
                    .contains("the records expand to more than 536870912 bytes"),
                "{error}"
            ),
        }
    }
}

#[test]
fn rejects_oversized_appends_and_too_many_parts() {
    let chain = RecordChain::default();
    assert!(matches!(
        chain.appended(&vec![b'x'; MAX_APPEND_BYTES + 1]),
        Err(ChainError::AppendTooLarge { .. })
    ));
    let last = Part {
        number: MAX_PARTS - 1,
        bytes: vec![0; MAX_PART_BYTES],
        ..Part::first()
    };
    let full = RecordChain {
        open: Some(last),
        ..RecordChain::default()
    };
    assert!(matches!(full.appended(b"x\n"), Err(ChainError::Full)));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]
    #[test]
    fn reads_back_any_sequence_of_appends(texts in prop::collection::vec(prop::collection::vec(any::<u8>(), 0..2000), 0..12)) {
        let (chain, objects) = write_chain(&texts);
        let (again, lines) = read(&objects, None).unwrap();
        prop_assert_eq!(again, chain);
        prop_assert_eq!(lines, texts.concat());
    }
}

#[test]
fn part_that_another_owner_controls_is_rejected() {
    let (_, objects) = write_chain(&[b"a\n".to_vec()]);
    let not_ours: [fn(&mut ConfigMap); 3] = [
        |part| part.metadata.owner_references = None,
        |part| part.metadata.owner_references.as_mut().unwrap()[0].controller = None,
        |part| part.metadata.owner_references.as_mut().unwrap()[0].uid = "other".to_owned(),
    ];
    for change in not_ours {
        let mut part = objects[0].clone();
        change(&mut part);
        let error = read(&[part], None).unwrap_err();
        assert!(matches!(error, ChainError::Foreign { part: 0 }), "{error}");
    }
}
