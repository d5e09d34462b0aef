//! Creates a data directory with the server's own script, then adds the data set.

use super::binary::NAME;
use super::explain::explain;
use super::layout::Layout;
use super::{Kind, arguments, binary, server};
use crate::contract::server::Fill;
use crate::data::cache::{CacheKey, cached, initialised, is_cached};
use crate::data::directories::PrivateDirectory;
use crate::process::instance::{run_installer, statement};
use crate::process::server_process::StopPolicy;
use crate::programs::program::check_may_run;
use crate::{Binary, DEFAULT_DATABASE, EngineError, PrepareRequest, Server, StartRequest, StopOutcome};
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

/// Version of this procedure, part of the key: raise it when prepared directories would differ.
const RECIPE: &str = "1";

fn key(kind: &Kind, binary: &Binary, shaping: &BTreeMap<String, String>, dataset: &str) -> CacheKey {
    let options = format!("{shaping:?}");
    let parts = [("recipe", RECIPE), ("binary", &binary.identity), ("options", &options), ("dataset", dataset)];
    CacheKey::new(kind.name, &parts)
}

/// The key of the directory before it contains a data set.
fn key_of_initialised(kind: &Kind, binary: &Binary, shaping: &BTreeMap<String, String>, init: &[String]) -> CacheKey {
    let (options, init) = (format!("{shaping:?}"), init.join(" "));
    let mut parts = vec![("recipe", RECIPE), ("binary", binary.identity.as_str()), ("options", options.as_str())];
    parts.extend((!init.is_empty()).then_some(("init", init.as_str())));
    CacheKey::of_initialised(kind.name, &parts)
}

pub(crate) fn is_prepared(
    kind: &Kind,
    cache: &Path,
    by: &Binary,
    options: &BTreeMap<String, String>,
    dataset: &str,
) -> bool {
    is_cached(cache, &key(kind, by, &arguments::shaping(options), dataset))
}

pub(crate) fn prepare_data(
    kind: &'static Kind,
    request: &PrepareRequest,
    fill: &mut Fill<'_>,
) -> Result<PathBuf, EngineError> {
    let binary = (kind.find)(request.binary.as_deref())?;
    let shaping = arguments::shaping(&request.options);
    let cache = &request.cache_directory;
    cached(cache, &key(kind, &binary, &shaping, &request.dataset), |partial| {
        let fresh = key_of_initialised(kind, &binary, &shaping, &request.init_options);
        let install = |partial: &Path| (kind.install)(&binary, request, &shaping, partial);
        let data = initialised(cache, &fresh, partial, install)?;
        fill_fresh(kind, request, &shaping, &data, fill)
    })
}

/// Runs the build's own `mariadb-install-db`: root without password over the socket, no test database.
pub(super) fn install(
    binary: &Binary,
    request: &PrepareRequest,
    shaping: &BTreeMap<String, String>,
    partial: &Path,
) -> Result<(), EngineError> {
    let data = partial.join("data");
    // A separate directory: a starting server deletes the temporary tables of all others in the same directory.
    let temporary = PrivateDirectory::create(&partial.join("tmp"))?;
    let scratch = ("TMPDIR".to_owned(), temporary.path().to_string_lossy().into_owned());
    let environment = binary.environment(&BTreeMap::from([scratch]));
    let (script, runs) = binary::install_script(&binary.path)?;
    let mut arguments: Vec<OsString> = runs.arguments.iter().map(OsString::from).collect();
    arguments.push(script.clone().into());
    arguments.extend(of_script(&script, &Layout::of(&binary.path))?);
    // The script splits its arguments at spaces, also the data directory: a link gives it a simple name.
    let link = if is_one_word(&data) { None } else { Some(PrivateDirectory::create(&request.run_directory)?) };
    let named = match &link {
        None => data.clone(),
        Some(folder) => {
            let name = folder.path().join("data");
            fs::create_dir(&data).map_err(|e| EngineError::io("create the directory", &data, e))?;
            std::os::unix::fs::symlink(&data, &name).map_err(|e| EngineError::io("link the directory", &name, e))?;
            name
        }
    };
    arguments.push(arguments::path("datadir", &named));
    arguments.extend(arguments::run_as());
    arguments.extend(arguments::given(NAME, shaping)?);
    let explain = |log: &str| explain("mariadb-install-db", log, &data, &binary.version);
    let stop_policy = StopPolicy::default();
    run_installer("mariadb-install-db", &runs.program, arguments, &environment, stop_policy, request, explain)
}

/// The arguments of the script: where its tree is, and those other options that this version knows.
fn of_script(script: &Path, layout: &Layout) -> Result<Vec<OsString>, EngineError> {
    let text = fs::read(script).map_err(|source| EngineError::io("read", script, source))?;
    let text = String::from_utf8_lossy(&text);
    let mut arguments: Vec<OsString> = vec!["--no-defaults".into()];
    // `--force` avoids looking up this machine's host name.
    let wanted = ["--auth-root-authentication-method=normal", "--skip-test-db", "--force"];
    arguments.extend(wanted.into_iter().filter(|option| text.contains(option)).map(OsString::from));
    match layout {
        Layout::System => {}
        Layout::Tree(base) => {
            // The script runs this program to read options.
            check_may_run(&base.join("bin/my_print_defaults"))?;
            arguments.push(arguments::path("basedir", base));
        }
        Layout::Build { build, source } => {
            arguments.extend([arguments::path("srcdir", source), arguments::path("builddir", build)]);
        }
    }
    Ok(arguments)
}

/// Whether a shell treats the path as one word in every context.
fn is_one_word(path: &Path) -> bool {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"/._-+:@%=".contains(&byte);
    path.as_os_str().as_bytes().iter().copied().all(plain)
}

/// Starts a server on the fresh directory, lets the caller fill it, and shuts it down: every copy starts alike.
fn fill_fresh(
    kind: &'static Kind,
    request: &PrepareRequest,
    shaping: &BTreeMap<String, String>,
    data: &Path,
    fill: &mut Fill<'_>,
) -> Result<(), EngineError> {
    let mut server = server::start(kind, &StartRequest::to_fill(request, data, shaping.clone()))?;
    let mut session = server.connect()?;
    statement(&mut *session, &format!("CREATE DATABASE {DEFAULT_DATABASE}"))?;
    server.use_database(DEFAULT_DATABASE);
    (kind.begin_fill)(&mut *session)?;
    fill(&server).map_err(|error| EngineError::fill(data, error))?;
    (kind.end_fill)(&mut *session)?;
    // Root without password is for the socket only, whose directory no other user can enter.
    (kind.root_stays_local)(&mut *session)?;
    // A slow shutdown merges and purges everything: no background work is left for the trials.
    statement(&mut *session, "SET GLOBAL innodb_fast_shutdown = 0")?;
    // The page list for innodb_buffer_pool_load_at_startup = ON, which is not this program's default.
    for setting in ["innodb_buffer_pool_dump_pct = 100", "innodb_buffer_pool_dump_at_shutdown = ON"] {
        statement(&mut *session, &format!("SET GLOBAL {setting}"))?;
    }
    drop(session);
    if server.stop(request.timeout)? != StopOutcome::Graceful {
        return Err(server.unfinished(request, "did not shut down"));
    }
    Ok(())
}
