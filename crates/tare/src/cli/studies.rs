//! `tare studies`: lists the built-in studies and the keys of a study file; with `--engines` the servers on this
//! machine, and how to install the missing ones.

use super::{Exit, Problem, interrupt, output};
use clap::Args;
use serde::Serialize;
use std::path::PathBuf;
use tare_engine::{Binary, installed};
use tare_report::terminal::{Style, wrap};
use tare_study::language::decide::Decide;
use tare_study::language::document::Source;
use tare_study::language::parse::{Overrides, parse};
use tare_study::language::settings::Sampling;
use tare_study::language::{builtin, fields};
use tare_text::{KeyInfo, Keyed};

#[derive(Debug, Args)]
pub(crate) struct StudiesArgs {
    /// Print the TOML text of one study, to start your own from
    #[arg(value_name = "NAME")]
    name: Option<String>,
    /// Print every key of a study file with its meaning
    #[arg(long, conflicts_with = "name")]
    keys: bool,
    /// Show which servers of each engine this machine has, and how to install the others
    #[arg(long, conflicts_with_all = ["name", "keys"])]
    engines: bool,
    /// With --engines: look for servers below this folder too (may be repeated); each is asked for its version
    #[arg(long, value_name = "FOLDER", requires = "engines")]
    under: Vec<PathBuf>,
    /// Print one JSON document
    #[arg(long)]
    json: bool,
}

#[derive(Serialize)]
struct Listed {
    name: &'static str,
    title: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    text: Option<&'static str>,
}

/// Lists the built-in studies, prints one, or explains the keys.
pub(crate) fn run(args: &StudiesArgs) -> Result<Exit, Problem> {
    if args.keys {
        if args.json {
            output::document("tare-keys", &serde_json::json!({ "keys": key_rows() }))?;
        } else {
            output::lines(&keys())?;
        }
        return Ok(Exit::Done);
    }
    if args.engines {
        print_engines(&args.under, args.json)?;
        return Ok(Exit::Done);
    }
    if let Some(name) = &args.name {
        let study = builtin::find(name).ok_or_else(|| {
            let known: Vec<&str> = builtin::BUILTIN.iter().map(|b| b.name).collect();
            let near = tare_text::nearest(name, known.iter().copied());
            Problem::new(Exit::Usage, format!("there is no built-in study {name}"))
                .expected(known.join(", "))
                .advised(near.map(|near| format!("did you mean `{near}`?")))
        })?;
        if !args.json {
            output::as_is(study.text)?;
            return Ok(Exit::Done);
        }
    }
    let mut listed = Vec::new();
    for builtin in builtin::BUILTIN.iter().filter(|builtin| args.name.as_ref().is_none_or(|name| name == builtin.name))
    {
        let study = parse(Source { origin: builtin.name, text: builtin.text }, &Overrides::default())?;
        listed.push(Listed {
            name: builtin.name,
            title: study.title,
            text: args.name.is_some().then_some(builtin.text),
        });
    }
    if args.json {
        output::document("tare-studies", &serde_json::json!({ "studies": listed }))?;
    } else {
        let style = Style::of_stdout(None);
        let narrow = style.width.is_some_and(|width| width < 60);
        let below = " ".repeat(if narrow { 4 } else { 25 });
        let line = |s: &Listed| wrap(style, &format!("{:24} ", s.name), &below, &s.title);
        let lines: String = listed.iter().map(line).collect();
        output::lines(&format!(
            "{lines}\ntare studies NAME prints one; tare studies --keys explains the keys of a study; tare studies \
             --engines shows the servers of this machine.\n"
        ))?;
    }
    Ok(Exit::Done)
}

#[derive(Serialize)]
struct KeyJson {
    section: &'static str,
    name: &'static str,
    help: String,
}

fn key_rows() -> Vec<KeyJson> {
    let of =
        |section, KeyInfo { name, help, in_study, .. }| KeyJson { section, name, help: format!("{help}{in_study}") };
    let fields = fields::all().map(|field| of(field.section, field.info));
    let sampling = Sampling::KEYS.iter().map(|own| of("sampling", own.info()));
    let decide = Decide::KEYS.iter().map(|own| of("decide", own.info()));
    fields.chain(sampling).chain(decide).collect()
}

fn line(KeyInfo { name, help, in_study, .. }: KeyInfo) -> String {
    format!("  {name:18} {help}{in_study}\n")
}

fn keys() -> String {
    let mut text = String::from(
        "Keys of a study file. Keys outside [sampling], [decide] and [capture] can be factors. A PU is a logical \
         CPU.\n",
    );
    let mut section = "";
    for field in fields::all() {
        if section == "engine" && field.section != section {
            text.push_str("  options.NAME       any option of the engine; as a factor option.NAME\n");
        }
        if field.section != section {
            section = field.section;
            text.push_str(&match section {
                "machine" => {
                    "\n[machine]          machine-wide settings, restored afterwards; most need root\n".to_owned()
                }
                section => format!("\n[{section}]\n"),
            });
        }
        text.push_str(&line(field.info));
    }
    text.push_str(
        "  where_possible     on: settings that this machine does not have are left out, and the answer says so; off: \
         nothing runs then\n",
    );
    text.push_str("\n[sampling]\n");
    for key in Sampling::KEYS {
        text.push_str(&line(key.info()));
    }
    text.push_str("\n[decide]           two sides instead of factors, compared pair by pair as with `tare ab`\n");
    for key in Decide::KEYS {
        text.push_str(&line(key.info()));
    }
    text.push_str(
        "\n[factors]          factor = [levels]; every combination is a condition\n\
         [[conditions]]     a list, each entry with factors and levels of its own; [factors] next to it join\n\
         \x20                  every entry, or choose among the levels that entries have\n\
         [[enough]]         warmup_runs = what is enough with the settings that stand next to it, where --within cuts the\n\
         \x20                  study to a time; a list\n\
         [design]           kind = full-factorial or one-at-a-time; identical = run or skip; ladder = factors whose levels\n\
         \x20                  are measured one after the other on one server, in an order drawn for each trial\n\
         [placements.NAME]  keys of [placement]; chosen by the factor placement\n\
         [builds.NAME]      keys of [engine], options too: a server to compare; chosen by the factor build\n\
         [quick.SECTION]    what --quick changes\n\
         [article.SECTION]  what --article changes: the size and settings that an article published\n",
    );
    text
}

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
fn print_engines(under: &[PathBuf], json: bool) -> Result<(), Problem> {
    interrupt::stop()?;
    if let Some(folder) = under.iter().find(|folder| !folder.is_dir()) {
        return Err(Problem::new(Exit::Usage, "this is not a folder").at(folder.display().to_string()));
    }
    let mut engines = Vec::new();
    for &engine in tare_engine::engines() {
        let usual = engine.binary(None).ok().map(|binary| binary.path);
        let found: Vec<Found> = installed(engine, under).into_iter().map(|b| found_server(b, usual.as_ref())).collect();
        let install = if found.is_empty() { engine.install() } else { None };
        engines.push(Engine { engine: engine.name(), found, install });
    }
    if tare_engine::interrupted() {
        return Err(interrupt::problem("asking servers for their versions"));
    }
    if json {
        output::document("tare-engines", &serde_json::json!({ "engines": engines }))
    } else {
        output::lines(&engine_lines(&engines))
    }
}

fn found_server(binary: Binary, usual: Option<&PathBuf>) -> Found {
    let usual = usual == Some(&binary.path);
    let Binary { path, product, version, build_id, .. } = binary;
    Found { product, version, path, build_id, usual }
}

fn engine_lines(engines: &[Engine]) -> String {
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
         Servers below a folder, for example: tare studies --engines --under /opt\n",
    );
    text
}
