//! `tare studies --engines`: lists the servers on this machine, and how to install the missing ones.

use super::{Problem, interrupt, output};
use serde::Serialize;
use std::path::PathBuf;
use tare_engine::{Binary, installed};

#[derive(Serialize)]
struct Engine {
    engine: &'static str,
    found: Vec<Found>,
    /// The command that installs the engine if none was found.
    install: Option<&'static str>,
}

#[derive(Serialize)]
struct Found {
    product: &'static str,
    version: String,
    path: PathBuf,
    build_id: Option<String>,
    /// Whether a study that names no binary uses this one.
    usual: bool,
}

/// Prints every engine with its servers in the usual places and under the given directories.
pub(crate) fn print(under: &[PathBuf], json: bool) -> Result<(), Problem> {
    interrupt::stop()?;
    if let Some(folder) = under.iter().find(|folder| !folder.is_dir()) {
        return Err(Problem::new(super::Exit::Usage, "this is not a folder").at(folder.display().to_string()));
    }
    let mut engines = Vec::new();
    for &engine in tare_engine::engines() {
        let usual = engine.binary(None).ok().map(|binary| binary.path);
        let found: Vec<Found> = installed(engine, under).into_iter().map(|b| of(b, usual.as_ref())).collect();
        let install = if found.is_empty() { engine.install() } else { None };
        engines.push(Engine { engine: engine.name(), found, install });
    }
    if tare_engine::interrupted() {
        return Err(interrupt::problem("asking servers for their versions"));
    }
    if json {
        output::document("tare-engines", &serde_json::json!({ "engines": engines }))
    } else {
        output::lines(&lines(&engines))
    }
}

fn of(binary: Binary, usual: Option<&PathBuf>) -> Found {
    let usual = usual == Some(&binary.path);
    let Binary { path, product, version, build_id, .. } = binary;
    Found { product, version, path, build_id, usual }
}

fn lines(engines: &[Engine]) -> String {
    let mut text = String::new();
    for Engine { engine, found, install } in engines {
        for server in found {
            let id = server.build_id.as_ref().map(|id| format!("  build id {}", id.get(..12).unwrap_or(id)));
            let usual = if server.usual { "*" } else { " " };
            let (product, version, path) = (server.product, &server.version, server.path.display());
            let id = id.unwrap_or_default();
            text.push_str(&format!("{usual} {engine:10}  {product} {version}  {path}{id}\n"));
        }
        if let Some(install) = install {
            text.push_str(&format!("- {engine:10}  not found; install it with: {install}\n"));
        }
    }
    text.push_str(
        "\n* is used by a study that names no server. Others: engine.binary = \"PATH\", or several as [builds.NAME].\n\
         Servers below a folder of yours: tare studies --engines --under FOLDER\n",
    );
    text
}
