//! Opens two libraries: the system's libfabric, and the libfabric 2.x in the directory that
//! `FABRICBENCH_TEST_LIBFABRIC_2` specifies. If the variable is not set, the test with libfabric 2.x fails.

use libfabric_sys::{Library, Source, Version};

#[test]
fn identifies_the_system_library_and_lists_its_providers() {
    let library = Library::open(&Source::Search).unwrap();
    let identity = library.identity();
    assert!(identity.path.is_absolute(), "{identity:?}");
    assert_eq!(identity.soname.as_deref(), Some("libfabric.so.1"));
    assert!(identity.version >= Version::new(1, 17), "{identity:?}");
    assert!(identity.api <= identity.version, "{identity:?}");
    let names: Vec<_> = library
        .providers()
        .unwrap()
        .into_iter()
        .map(|provider| provider.name)
        .collect();
    assert!(names.iter().any(|name| name == "shm"), "{names:?}");
    assert_eq!(library.error_message(-11), library.error_message(11));
}

#[test]
fn uses_the_symbols_and_api_version_of_libfabric_2() {
    let directory = std::env::var_os("FABRICBENCH_TEST_LIBFABRIC_2").expect(
        "FABRICBENCH_TEST_LIBFABRIC_2 must name a directory that contains libfabric 2.x; .ci/test sets it",
    );
    let library = Library::open(&Source::Path(directory.into())).unwrap();
    let identity = library.identity();
    assert!(identity.version >= Version::new(2, 0), "{identity:?}");
    assert_eq!(identity.api, identity.version.min(Version::new(2, 6)));
    assert!(
        ["FABRIC_1.8", "FABRIC_1.9"].contains(&identity.symbols.as_str()),
        "{identity:?}"
    );
    let names: Vec<_> = library
        .providers()
        .unwrap()
        .into_iter()
        .map(|provider| provider.name)
        .collect();
    assert!(names.iter().any(|name| name == "tcp"), "{names:?}");
    assert!(!names.iter().any(|name| name == "net"), "{names:?}");
}
