//! Making a data directory: the server does it itself.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::Path;

use super::names::NAME;
use crate::data::directories::PrivateDirectory;
use crate::mariadb::arguments;
use crate::mariadb::explain::explain;
use crate::mariadb::layout::Layout;
use crate::process::family::Family;
use crate::process::installer::run_installer;
use crate::process::server_process::{Launch, Manners};
use crate::{Binary, EngineError, PrepareRequest};

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
