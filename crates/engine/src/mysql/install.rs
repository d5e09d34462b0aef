//! Making a data directory: the server does it itself.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::Path;

use super::super::directories::PrivateDirectory;
use super::super::family::Family;
use super::super::installer::run_installer;
use super::super::mariadb::arguments;
use super::super::mariadb::explain::explain;
use super::super::mariadb::layout::Layout;
use super::super::process::{Launch, Manners};
use super::super::{Binary, EngineError, PrepareRequest};
use super::names::NAME;

/// `mysqld --initialize-insecure`: root without password over the socket, and no other account.
pub(super) fn install(
    server: &Binary,
    request: &PrepareRequest,
    shaping: &BTreeMap<String, String>,
    partial: &Path,
) -> Result<(), EngineError> {
    let data = partial.join("data");
    let temporary = PrivateDirectory::create(&partial.join("tmp"))?;
    let mut arguments: Vec<OsString> = vec!["--no-defaults".into(), "--initialize-insecure".into()];
    arguments.extend(arguments::run_as());
    for (name, path) in [("datadir", data.as_path()), ("tmpdir", temporary.path())] {
        let mut argument = OsString::from(format!("--{name}="));
        argument.push(path);
        arguments.push(argument);
    }
    arguments.extend(Layout::of(&server.path).arguments());
    arguments.extend(["--loose-mysqlx=OFF", "--skip-log-bin", "--secure-file-priv="].map(OsString::from));
    arguments.extend(arguments::given(NAME, shaping)?);
    let launch = Launch {
        program: &server.path,
        arguments,
        environment: &server.environment(&BTreeMap::new()),
        aslr: None,
        preload: None,
        log: &request.log,
        manners: Manners::default(),
        family: Family::planned(),
    };
    let explain = |log: &str| explain(NAME, log, &data, &server.version);
    run_installer("mysqld --initialize", &launch, request, explain)?;
    // The number by which servers know each other: one that finds none makes its own.
    let number = data.join("auto.cnf");
    std::fs::remove_file(&number).map_err(|source| EngineError::io("remove", &number, source))
}
