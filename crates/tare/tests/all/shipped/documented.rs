//! Runs every command that README and docs show: none may be wrong, and those that can run here are run.
//!
//! Long commands are only planned (`--dry-run`) or shortened (`--quick`); commands for a server of the reader must fail
//! because the server is missing, not because the command is wrong.

use crate::support::World;
use pulldown_cmark::{CodeBlockKind, Event, Options, Parser, Tag, TagEnd};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Output;

pub(super) fn top() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// The commands of a page, and its studies: fenced TOML blocks with a name.
#[derive(Default)]
struct Page {
    /// From fenced and indented blocks: whole commands.
    shown: Vec<String>,
    /// From the running text: commands, or parts of them.
    mentioned: Vec<String>,
    toml: Vec<String>,
    rust: Vec<String>,
}

impl Page {
    fn read(path: &str) -> Self {
        let text = std::fs::read_to_string(top().join(path)).unwrap();
        let mut page = Self::default();
        let mut block: Option<(String, String)> = None;
        for event in Parser::new_ext(&text, Options::ENABLE_TABLES) {
            match event {
                Event::Start(Tag::CodeBlock(kind)) => {
                    let language = if let CodeBlockKind::Fenced(name) = &kind { name.as_ref() } else { "" };
                    block = Some((language.to_owned(), String::new()));
                }
                Event::Text(text) => block.iter_mut().for_each(|(_, block)| block.push_str(&text)),
                Event::End(TagEnd::CodeBlock) => {
                    let (language, text) = block.take().unwrap_or_default();
                    match language.as_str() {
                        "toml" => page.toml.push(text),
                        "rust" => page.rust.push(text),
                        _ => page.shown.extend(commands(&text)),
                    }
                }
                Event::Code(text) if text.starts_with("tare ") => page.mentioned.push(text.to_string()),
                _ => {}
            }
        }
        page
    }
}

/// The lines that begin with `tare`, with continued lines joined, without a prompt.
fn commands(block: &str) -> Vec<String> {
    let joined = block.replace("\\\n", " ");
    let lines = joined.lines().map(|line| line.trim_start().trim_start_matches("$ "));
    lines.filter(|line| line.starts_with("tare ")).map(String::from).collect()
}

pub(super) fn type_it(world: &World, command: &str) -> Output {
    let bin = world.path("bin");
    if !bin.exists() {
        std::fs::create_dir(&bin).unwrap();
        std::os::unix::fs::symlink(env!("CARGO_BIN_EXE_tare"), bin.join("tare")).unwrap();
    }
    let path = format!("{}:{}", bin.display(), std::env::var("PATH").unwrap());
    world.command("bash").args(["-c", command]).env("PATH", path).output().unwrap()
}

pub(super) fn succeeds(world: &World, command: &str, from: &str) {
    let out = type_it(world, command);
    let err = String::from_utf8_lossy(&out.stderr);
    assert!(out.status.success(), "{from}: {command}\n{}{err}", String::from_utf8_lossy(&out.stdout));
}

/// The command in a form that can be run here, and whether it needs a server that does not exist.
fn fitted(command: &str) -> (String, bool) {
    let command = command.split(" #").next().unwrap().trim();
    // Other tests run at the same time, and a rehearsal is enough.
    let rehearsal = "--quick --set sampling.steal_limit=off --set sampling.foreign_cpu_limit=off";
    match command.split_whitespace().nth(1).unwrap() {
        "run" | "reproduce" if ["--resume", "--topology", "--shard"].iter().any(|option| command.contains(option)) => {
            (command.to_string(), false)
        }
        "shard" => (format!("{command} {rehearsal} --set sampling.sample_s=0.1").replacen("--quick", "", 1), false),
        "run" if command.contains("mine.toml --out") => (format!("{command} {rehearsal}"), false),
        "run" if command.contains("--out jumps") => (format!("{command} {rehearsal} --set sampling.trials=3"), false),
        // Planned on a described machine that has everything that studies request.
        "run" => (format!("{} --dry-run --topology 'node:4 core:32 pu:2'", command.replace(" --dry-run", "")), false),
        // Has tests of its own; a plan checks the command line as well.
        "reproduce" if !command.contains("--list") => {
            let one = command.replace(" --dry-run", "").replace("reproduce --within", "reproduce C --within");
            (format!("{one} --dry-run --topology 'node:2 core:4 pu:1'"), false)
        }
        // These commands may use their whole budget; the CI jobs have a test of their own.
        "ab" | "bisect" => (format!("{command} --help"), false),
        "find" if !command.contains("--dry-run") => (format!("{command} --help"), false),
        "topo" if command.contains("--measure") => (format!("{command} --limit-s 1"), false),
        "doctor" if !command.contains("--spin") => (format!("{command} --spin 0.1"), false),
        "load" => (command.replace("/run/mysqld/mysqld.sock", "no-such-socket"), true),
        _ => (command.to_string(), false),
    }
}

/// The comparison of the guide for CI, with this program as both builds: it is the embedded engine's server.
fn compares_two_builds(world: &World, command: &str) {
    succeeds(world, "mkdir -p base/bin new/bin && ln -s ../../bin/tare base/bin/mariadbd", "here");
    succeeds(world, "ln -s ../../bin/tare new/bin/mariadbd", "here");
    let quiet = "--set sampling.steal_limit=off --set sampling.foreign_cpu_limit=off --set sampling.sample_s=0.2";
    let out = type_it(world, &format!("{} {quiet} --no-interleave", command.replace("30min", "1s")));
    assert!(matches!(out.status.code(), Some(0 | 1 | 5)), "{}", String::from_utf8_lossy(&out.stderr));
    assert!(world.path("ab/ab.png").exists());
}

fn check(world: &World, command: &str, from: &str) {
    if command.contains("base/bin/mariadbd") {
        return compares_two_builds(world, command);
    }
    let (command, needs_server) = fitted(command);
    if needs_server {
        let out = type_it(world, &command);
        let err = String::from_utf8_lossy(&out.stderr);
        assert!(matches!(out.status.code(), Some(3 | 4)), "{from}: {command}\n{err}");
        assert!(err.contains("no-such-socket"), "{from}: {command}\n{err}");
    } else {
        succeeds(world, &command, from);
    }
}

#[test]
fn the_tutorial_followed_literally_works() {
    let world = World::new();
    let page = Page::read("docs/tutorial.md");
    assert!(page.shown.len() >= 9, "{:?}", page.shown);
    for command in &page.shown {
        check(&world, command, "docs/tutorial.md");
        if command.contains("> mine.toml") {
            let study = std::fs::read_to_string(world.path("mine.toml")).unwrap();
            let (before, after) = study.split_once("[[conditions]]").unwrap();
            let rest = &after[after.find("[placements").unwrap()..];
            std::fs::write(world.path("mine.toml"), format!("{before}{}{rest}", page.toml[0])).unwrap();
        }
    }
    // Commands in the text between the blocks.
    for command in ["tare run --resume mine", "tare studies --keys", "tare restore"] {
        assert!(page.mentioned.iter().any(|mentioned| mentioned == command), "{command}");
        check(&world, command, "docs/tutorial.md");
    }
}

/// The guide's `Cargo.toml` and program, next to the repository.
#[test]
fn the_program_of_the_crate_users_guide_is_built_and_runs() {
    let world = World::new();
    let page = Page::read("docs/guides/crate-user.md");
    let ([dependencies], [program]) = (&page.toml[..], &page.rust[..]) else { panic!("one of each is in the guide") };
    std::os::unix::fs::symlink(top().canonicalize().unwrap(), world.path("tare")).unwrap();
    std::fs::create_dir_all(world.path("mine/src")).unwrap();
    let manifest = format!("[package]\nname = \"mine\"\nversion = \"0.0.0\"\nedition = \"2024\"\n\n{dependencies}");
    std::fs::write(world.path("mine/Cargo.toml"), manifest).unwrap();
    std::fs::write(world.path("mine/src/main.rs"), program).unwrap();
    // Uses the versions that are installed already: nothing is downloaded.
    std::fs::copy(top().join("Cargo.lock"), world.path("mine/Cargo.lock")).unwrap();
    let mut cargo = world.command(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    cargo.args(["run", "--offline"]).current_dir(world.path("mine")).env("CARGO_TARGET_DIR", world.path("built"));
    let out = cargo.output().unwrap();
    assert!(out.status.success(), "{}", String::from_utf8_lossy(&out.stderr));
}

#[test]
fn every_command_of_readme_and_docs_can_be_typed() {
    let world = World::new();
    let made = "tare run first-look --quick --out RESULTS --set factors.placement=float,same-pu \
                --set sampling.steal_limit=off --set sampling.foreign_cpu_limit=off";
    succeeds(&world, made, "here");
    // Each as if made in another year: a copy of the same trials is refused.
    let copies = ["A", "B", "before", "builds", "looked"].map(str::to_owned).into_iter();
    for (year, name) in copies.chain((1..=6).map(|night| format!("nightly/{night}"))).enumerate() {
        let dated = format!("sed -i 's/\"started_at\":\"[0-9]*/\"started_at\":\"{}/' {name}/trials.jsonl", 2001 + year);
        succeeds(&world, &format!("mkdir -p nightly && cp -r RESULTS {name} && {dated}"), "here");
    }
    let own = Page::read("README.md").toml.into_iter().find(|toml| toml.contains("name = \"my-study\"")).unwrap();
    for name in ["my-study.toml", "my.toml"] {
        std::fs::write(world.path(name), &own).unwrap();
    }
    let (mut count, mut shown) = (0, BTreeMap::new());
    // Cached, because some commands are mentioned forty times.
    let mut help = |words: &[&str]| {
        let requested = shown.entry(words.join(" "));
        requested.or_insert_with(|| world.exits(0, &[words, &["--help"]].concat()).0).clone()
    };
    for path in pages() {
        let page = Page::read(&path);
        for study in page.toml.iter().filter(|toml| toml.starts_with("name = ")) {
            let name = study.split('"').nth(1).unwrap();
            std::fs::write(world.path(&format!("{name}.toml")), study).unwrap();
        }
        // README shows its commands in a table and in the text.
        let whole = if path == "README.md" { [page.shown, page.mentioned.clone()].concat() } else { page.shown };
        for command in whole.iter().filter(|command| !command.contains("COMMAND") && !command.contains("--help")) {
            check(&world, command, &path);
            count += 1;
        }
        for command in &page.mentioned {
            options_exist(&mut help, command, &path);
        }
    }
    // The help's own examples; last, because one of them writes my.toml.
    let commands = help(&[]);
    let commands = commands.split("Commands:\n").nth(1).unwrap().lines().take_while(|line| !line.is_empty());
    let named = commands.filter(|line| line.starts_with("  ") && !line.starts_with("   "));
    let names: Vec<String> = named.filter_map(|line| Some(line.split_whitespace().next()?.to_owned())).collect();
    let names = ["", "load tpcc"].into_iter().chain(names.iter().map(String::as_str));
    let mut found = 0;
    for name in names.filter(|name| *name != "help") {
        for command in examples(&help(&name.split(' ').filter(|word| !word.is_empty()).collect::<Vec<_>>())) {
            check(&world, &command, &format!("tare {name} --help"));
            found += 1;
        }
    }
    assert!(count >= 25 && found >= 20, "{count} commands were found, {found} in the help");
}

/// The commands below "Examples" or "Start here", without the words that explain them; those for a server at a host
/// need one.
fn examples(help: &str) -> Vec<String> {
    let all = ["Examples", "Start here"].iter().find_map(|head| help.split_once(head));
    let joined = all.map(|(_, text)| text.replace("\\\n      ", "")).unwrap_or_default();
    let without_words = |command: String| command.split("  ").next().map(|words| words.replace("before", "elsewhere"));
    commands(&joined).into_iter().filter_map(without_words).filter(|command| !command.contains("--host")).collect()
}

/// README and the pages of docs, except the tutorial, which has a test of its own.
fn pages() -> Vec<String> {
    let docs = ["docs", "docs/guides"].into_iter().flat_map(|folder| {
        let names = std::fs::read_dir(top().join(folder)).unwrap().map(|entry| entry.unwrap().file_name());
        names.map(move |name| format!("{folder}/{}", name.to_str().unwrap())).filter(|path| path.ends_with(".md"))
    });
    let mut pages: Vec<_> = docs.filter(|path| path != "docs/tutorial.md").collect();
    pages.push("README.md".into());
    pages.sort();
    pages
}

/// Checks that the help contains the command and the options that a text mentions.
fn options_exist(help: &mut impl FnMut(&[&str]) -> String, command: &str, from: &str) {
    let name = command.split_whitespace().nth(1).unwrap();
    if name.starts_with('-') || !name.chars().all(|c| c.is_ascii_lowercase() || c == '-') {
        return;
    }
    // A load with options of its own.
    let load = command.split_whitespace().nth(2).filter(|word| (name, *word) == ("load", "tpcc"));
    let help = help(&[Some(name), load].into_iter().flatten().collect::<Vec<_>>());
    let options = command.split_whitespace().filter(|word| word.starts_with("--"));
    for option in options.map(|option| option.split('=').next().unwrap()) {
        assert!(help.contains(option), "{from}: {command}: {name} has no {option}");
    }
}
