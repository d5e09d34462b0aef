//! Completions and manual pages, generated from the program's own table of commands.

use crate::support::World;
use std::process::Command;

/// The commands that `tare --help` lists.
fn commands(world: &World) -> Vec<String> {
    let (help, _) = world.exits(0, &["--help"]);
    let list = help.split("Commands:").nth(1).unwrap().split("Options:").next().unwrap();
    let names = list.lines().filter_map(|line| line.strip_prefix("  ")).filter(|line| !line.starts_with(' '));
    names.filter_map(|line| line.split_whitespace().next()).filter(|name| *name != "help").map(String::from).collect()
}

#[test]
fn help_is_readable_on_a_narrow_terminal() {
    let world = World::new();
    let commands = commands(&world);
    for command in commands.iter().map(String::as_str).chain(["load tpcc"]) {
        let words: Vec<&str> = command.split(' ').chain(["--help"]).collect();
        let help = world.tare(&words).env("COLUMNS", "40").output().unwrap().stdout;
        let help = String::from_utf8(help).unwrap();
        // A column with room for one word per line has as many deep lines as words.
        let deep = help.lines().filter(|line| line.starts_with(&" ".repeat(28))).count();
        assert!(deep < 10, "{command}: {deep} lines begin in the last third\n{help}");
    }
}

#[test]
fn long_help_begins_with_common_options_and_groups_the_others() {
    let world = World::new();
    for (command, first, groups) in [
        (&["run"][..], "--engine", &["Measuring programs instead of a study:"][..]),
        (&["load"], "--prepare", &["Placement:", "Server:", "Tables and statements of sysbench's workloads:"]),
        (&["load", "tpcc"], "--warehouses", &["Placement:", "Server:"]),
        (&["shard"], "--into", &[]),
        (&["slurm"], "--nodes", &[]),
    ] {
        let (help, _) = world.exits(0, &[command, &["--help"]].concat());
        let options = help.split("\nOptions:\n").nth(1).unwrap();
        assert!(options.trim_start().starts_with(first), "{command:?}: {help}");
        let heads: Vec<&str> = options.lines().filter(|line| line.ends_with(':') && !line.starts_with(' ')).collect();
        assert_eq!(&heads[..groups.len()], groups, "{command:?}: {help}");
        assert!(options.split("\n\n").next().unwrap().contains("--help"), "{command:?}: {help}");
    }
}

#[test]
fn completions_name_every_command_and_no_internal_one() {
    let world = World::new();
    let commands = commands(&world);
    assert!(commands.contains(&"run".to_string()) && commands.len() >= 9, "{commands:?}");
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        let (script, _) = world.exits(0, &["completions", shell]);
        for command in &commands {
            assert!(script.contains(command.as_str()), "{shell} does not complete {command}");
        }
        for internal in ["sqlite-server", "tare trial"] {
            assert!(!script.contains(internal), "{shell} completes {internal}");
        }
    }
    let (_, err) = world.exits(2, &["completions", "bahs"]);
    assert!(err.contains("bash"), "{err}");
}

#[test]
fn bash_completes_options_by_the_script() {
    let world = World::new();
    let (script, _) = world.exits(0, &["completions", "bash"]);
    std::fs::write(world.path("tare.bash"), script).unwrap();
    let typed =
        "source tare.bash; COMP_WORDS=(tare run --qu); COMP_CWORD=2; _tare tare --qu run; echo \"${COMPREPLY[@]}\"";
    let out = Command::new("bash").args(["-c", typed]).current_dir(world.path("")).output().unwrap();
    assert_eq!(String::from_utf8_lossy(&out.stdout).trim(), "--quick", "{}", String::from_utf8_lossy(&out.stderr));
}

#[test]
fn every_command_has_a_manual_page() {
    let world = World::new();
    std::fs::create_dir(world.path("man")).unwrap();
    world.exits(0, &["man", "man"]);
    for command in commands(&world) {
        let page = std::fs::read_to_string(world.path(&format!("man/tare-{command}.1"))).unwrap();
        assert!(page.contains(".SH SYNOPSIS") && page.contains("\\-\\-help"), "{command}: {page}");
    }
    let first = std::fs::read_to_string(world.path("man/tare.1")).unwrap();
    assert!(first.contains("130 interrupted"), "the exit codes are in it: {first}");
    assert!(!world.path("man/tare-trial.1").exists());
    let (_, err) = world.exits(3, &["man", "no/such/directory"]);
    assert!(err.contains("no/such/directory"), "{err}");
}
