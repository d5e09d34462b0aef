//! Creates a data directory with initdb, then adds the data set.

use super::binary;
use super::binary::NAME;
use super::server::{self, ROOT, STOP_POLICY};
use crate::contract::server::Fill;
use crate::data::cache::{CacheKey, cached, initialised, is_cached};
use crate::process::instance::{run_installer, statement};
use crate::{Binary, DEFAULT_DATABASE, EngineError, PrepareRequest, Server, StartRequest, StopOutcome};
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::{Path, PathBuf};

/// Version of this procedure, part of the key: raise it when prepared directories would differ.
const RECIPE: &str = "1";

fn key(binary: &Binary, dataset: &str) -> CacheKey {
    // No server option affects the format of the files: only options of initdb do.
    CacheKey::new(NAME, &[("recipe", RECIPE), ("binary", &binary.identity), ("dataset", dataset)])
}

pub(super) fn is_prepared(cache: &Path, by: &Binary, dataset: &str) -> bool {
    is_cached(cache, &key(by, dataset))
}

pub(super) fn prepare_data(request: &PrepareRequest, fill: &mut Fill<'_>) -> Result<PathBuf, EngineError> {
    let binary = binary::find(request.binary.as_deref())?;
    let cache = &request.cache_directory;
    cached(cache, &key(&binary, &request.dataset), |partial| {
        let requested = request.init_options.join(" ");
        let mut parts = vec![("recipe", RECIPE), ("binary", &binary.identity)];
        parts.extend((!requested.is_empty()).then_some(("init", requested.as_str())));
        let fresh = CacheKey::of_initialised(NAME, &parts);
        let install = |partial: &Path| install(&binary, request, &partial.join("data"));
        let data = initialised(cache, &fresh, partial, install)?;
        fill_fresh(request, &data, fill)
    })
}

/// Text compares by bytes; over the private socket everyone is trusted, over TCP a password is required.
fn install(server: &Binary, request: &PrepareRequest, data: &Path) -> Result<(), EngineError> {
    let program = binary::next_to(&server.path, "initdb")?;
    let mut arguments: Vec<OsString> = vec!["-D".into(), data.into(), "--username".into(), ROOT.into()];
    // Everything is synced at once at the end.
    let rest = ["--locale=C", "--encoding=UTF8", "--auth-local=trust", "--auth-host=scram-sha-256", "--no-sync"];
    arguments.extend(rest.map(OsString::from));
    let environment = server.environment(&BTreeMap::new());
    let explain = |log: &str| server::explain(log, data, &server.version);
    run_installer("initdb", &program, arguments, &environment, STOP_POLICY, request, explain)
}

/// Starts a server on the fresh directory, lets the caller fill it, and shuts it down: every copy starts alike.
fn fill_fresh(request: &PrepareRequest, data: &Path, fill: &mut Fill<'_>) -> Result<(), EngineError> {
    let mut server = server::start(&StartRequest::to_fill(request, data, BTreeMap::new()))?;
    statement(&mut *server.connect()?, &format!("CREATE DATABASE {DEFAULT_DATABASE}"))?;
    server.use_database(DEFAULT_DATABASE);
    let mut session = server.connect()?;
    for extension in ["pg_prewarm", "pg_buffercache"] {
        // Not every build has these extensions; a statement that needs one fails then.
        let _ = session.run(&format!("CREATE EXTENSION {extension}"));
    }
    fill(&server).map_err(|error| EngineError::fill(data, error))?;
    // Vacuumed, analysed and written: no background work is left for the trials.
    session.set_timeout(None).map_err(|source| EngineError::Sql { statement: "time-out".to_owned(), source })?;
    statement(&mut *session, "VACUUM (ANALYZE)")?;
    statement(&mut *session, "CHECKPOINT")?;
    drop(session);
    match server.stop(request.timeout)? {
        StopOutcome::Graceful => Ok(()),
        _ => Err(server.unfinished(request, "did not shut down")),
    }
}
