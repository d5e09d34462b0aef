//! `tare load --out`: the same load as trials of a study, with a results directory like any other run's.

use super::run_args::RunArgs;
use super::server_args::ServerArgs;
use crate::cli::{Exit, Problem, run};
use std::fmt::Display;
use std::path::Path;
use tare_drive::workload::Load;
use tare_engine::{Address, ConnectTarget};
use tare_study::language::document::Source;
use tare_study::language::parse::{Overrides, parse};
use tare_study::language::spec::Study;
use tare_text::Value;
use toml::Table;

/// Measures as often as asked for, and keeps everything in a new directory.
///
/// # Errors
/// As `tare run`.
pub fn run(
    server: &ServerArgs,
    asked: &RunArgs,
    load: &dyn Load,
    target: &ConnectTarget,
    (out, json): (&Path, bool),
) -> Result<Exit, Problem> {
    // It was asked for already, and children are told it in private.
    let password = (!target.password.is_empty()).then(|| target.password.to_string());
    run::carry_out(study(server, asked, load, target)?, out, password, json)
}

/// The study that the options make.
fn study(server: &ServerArgs, args: &RunArgs, load: &dyn Load, target: &ConnectTarget) -> Result<Study, Problem> {
    let words = |words: &dyn Display| Some(Value::Text(words.to_string()));
    let of_load = load.keys();
    let mut workload = vec![("name", words(&load.name())), ("threads", Some(args.threads.into()))];
    workload.extend(of_load.iter().map(|key| (key.name, load.get(key.name))));
    let sections = [
        ("engine", engine(server, target)?),
        ("workload", workload),
        (
            "placement",
            vec![
                ("client", words(&args.client)),
                ("server", words(&args.server_side)),
                // Left out, these threads are where the server's owner wants them.
                ("background", Some(args.background.to_string()).filter(|side| side != "float").map(Value::Text)),
                ("bind", words(&args.bind)),
                ("pairing", words(&args.pairing)),
            ],
        ),
        (
            "sampling",
            vec![
                ("trials", Some(args.repeat.into())),
                ("samples", Some(1_usize.into())),
                ("warmup_s", Some(args.warmup_s().into())),
                ("sample_s", Some(args.time.into())),
                ("seed", Some(args.seed.into())),
            ],
        ),
    ];
    let mut root = Table::from_iter([("name".to_owned(), toml::Value::from("load"))]);
    for (section, keys) in sections {
        let keys = keys.into_iter().filter_map(|(key, value)| Some((key.to_owned(), toml_value(value?))));
        root.insert(section.to_owned(), toml::Value::Table(keys.collect()));
    }
    let overrides = Overrides { sets: args.set.clone(), ..Overrides::default() };
    Ok(parse(Source { origin: "tare load", text: &root.to_string() }, &overrides).map_err(|mut e| {
        // Its lines are not those that someone wrote.
        (e.line, e.column) = (0, 0);
        e
    })?)
}

/// Where the server is and who asks it, as far as that was said; else as it was found, so that every trial goes there.
fn engine(server: &ServerArgs, target: &ConnectTarget) -> Result<Vec<(&'static str, Option<Value>)>, Problem> {
    let name = server.engine()?.name();
    let path = |path: &Path| Value::Text(path.display().to_string());
    let (mut socket, mut host, mut port) = (server.socket.as_deref().map(path), server.host.clone(), server.port);
    if socket.is_none() && host.is_none() && server.option_file.is_none() && server.service.is_none() {
        match &target.address {
            Address::Socket(found) => socket = Some(path(found)),
            Address::Tcp(name, number) => (host, port) = (Some(name.clone()), Some(*number)),
        }
    }
    Ok(vec![
        ("name", Some(Value::Text(name.into()))),
        ("socket", socket),
        ("host", host.map(Value::Text)),
        ("port", port.map(|port| usize::from(port).into())),
        ("user", server.user.clone().map(Value::Text)),
        ("database", Some(Value::Text(server.database.clone()))),
        ("option_file", server.option_file.as_deref().map(path)),
        ("service", server.service.clone().map(Value::Text)),
        ("tls", server.tls.map(|mode| Value::Text(mode.to_string()))),
        ("tls_ca", server.tls_ca.as_deref().map(path)),
        ("tls_cert", server.tls_cert.as_deref().map(path)),
        ("tls_key", server.tls_key.as_deref().map(path)),
        ("server_public_key", server.server_public_key.as_deref().map(path)),
        ("get_server_public_key", server.get_server_public_key.then_some(Value::Switch(true))),
    ])
}

fn toml_value(value: Value) -> toml::Value {
    match value {
        Value::Switch(on) => on.into(),
        Value::Whole(number) => number.into(),
        Value::Number(number) => number.into(),
        Value::Text(text) => text.into(),
    }
}
