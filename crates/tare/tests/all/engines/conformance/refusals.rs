//! Servers that cannot be started as requested: the error gives the reason, and nothing is left.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::time::Duration;

use super::table::Differs;
use crate::engines::support::{Place, binary_of, prepared};
use tare_engine::{DataDirectory, EngineError, StartRequest};

pub fn each_with_its_reason(differs: &Differs) {
    let (engine, place) = (differs.engine, Place::new());
    let binary = binary_of(engine);
    let data = prepared(engine, &place, binary.as_deref());
    let request = || place.start_request(&data, binary.as_deref());
    let refused = |request: StartRequest| {
        let error = engine.start(&request).err().unwrap_or_else(|| panic!("it started: {request:?}"));
        assert!(!place.path("run").exists() && !place.path("copy").exists(), "{error}");
        error
    };

    for (name, value) in differs.refused {
        let options = BTreeMap::from([((*name).to_owned(), (*value).to_owned())]);
        let error = refused(StartRequest { options, ..request() });
        assert!(matches!(&error, EngineError::OptionRefused { option, .. } if option == name), "{name}: {error}");
    }

    let error = refused(StartRequest { binary: Some("/nonexistent/server".into()), ..request() }).to_string();
    assert!(error.contains("/nonexistent/server") && !error.contains("install"), "{error}");
    let error = refused(StartRequest { binary: Some("/bin/false".into()), ..request() }).to_string();
    assert!(error.contains("/bin/false") || error.contains("exit status: 1"), "{error}");

    let directory = place.path("directory");
    fs::create_dir(&directory).unwrap();
    let there = || StartRequest { data: DataDirectory::InPlace(directory.clone()), ..request() };
    let error = refused(there());
    assert!(error.to_string().contains(differs.empty), "{error}");
    assert!(!matches!(&error, EngineError::Died { tail, .. } if tail.is_empty()), "{error}");
    let other = &differs.other_data;
    fs::write(directory.join(other.file), other.content).unwrap();
    let error = refused(there());
    assert!(error.to_string().contains(other.says), "{error}");

    let deep = place.path(&"d".repeat(100));
    let error = refused(StartRequest { run_directory: deep.clone(), ..request() });
    assert!(matches!(error, EngineError::SocketPathTooLong { .. }) && !deep.exists(), "{error}");
    let error = refused(StartRequest { start_timeout: Duration::ZERO, ..request() });
    assert!(matches!(error, EngineError::NotReady { .. }), "{error}");
    let library = Some(Path::new("/nonexistent/liballoc.so").to_owned());
    let error = refused(StartRequest { allocator_preload: library, ..request() });
    assert!(matches!(error, EngineError::NotInEffect { setting: "allocator", .. }), "{error}");
    assert_eq!(fs::read_dir(place.path("state")).unwrap().count(), 0);
}
