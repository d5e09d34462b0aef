//! Invalid requests are refused before anything runs, in the terms of the request.

use crate::engines::running_support::Theirs;
use crate::support::{World, json, one_line, script};
use tare_engine::{Engine, Mariadb};

#[test]
fn an_invalid_count_is_refused_with_the_option_that_set_it() {
    let world = World::new();
    for option in ["--trials", "--samples"] {
        let output = world.tare(&["run", option, "0", "--dry-run"]).output().unwrap();
        let err = crate::support::text(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{err}");
        assert!(err.contains(&format!("'{option} <N>'")) && err.contains("a whole number from 1 to"), "{err}");
    }
}

#[test]
fn an_unknown_command_gets_no_far_fetched_suggestion() {
    let world = World::new();
    let (_, err) = world.exits(2, &["metrics"]);
    assert!(err.contains("'metrics'") && !err.contains("completions") && !err.contains("\n\n\n"), "{err}");
    let output = world.tare(&["--help"]).env("COLUMNS", "80").output().unwrap();
    assert!(
        crate::support::text(&output.stdout).contains("which CPU each thread gets, and the time\n\n"),
        "{output:?}"
    );
}

/// Errors of clap have the same form as all other errors.
#[test]
fn command_line_errors_have_the_same_form_as_study_errors() {
    let world = World::new();
    for (words, printed) in [
        (
            &["comparr"][..],
            "error: there is no command 'comparr'\n  expected: tare <COMMAND>\n  \
             do now: did you mean `compare`? Else see the options with `tare --help`\n",
        ),
        (
            &["show", "x", "--jsno"],
            "error: unexpected argument '--jsno'\n  expected: tare show --json <RESULTS>\n  \
             do now: did you mean `--json`? Else see the options with `tare show --help`\n",
        ),
        (
            &["ab", "--a", "x"],
            "error: invalid value 'x' for '--a <SIDE>'\n  expected: binary=PATH, build=NAME, option.NAME=VALUE, \
             placement=NAME, 'command=PROGRAM ARGS' or any factor with a level\n  \
             do now: see the options with `tare ab --help`\n",
        ),
        (
            &["report"],
            "error: missing: <RESULTS>\n  \
             expected: tare report <RESULTS>\n  do now: see the options with `tare report --help`\n",
        ),
        (
            &["first-look"],
            "error: there is no command 'first-look'\n  expected: tare <COMMAND>\n  \
             do now: to run a study: tare run first-look. Else see the options with `tare --help`\n",
        ),
        (
            &["topo", "--measure", "--limit-s", "0"],
            "error: invalid value '0' for '--limit-s <SECONDS>'\n  expected: a whole number from 1 to 86400\n  \
             do now: see the options with `tare topo --help`\n",
        ),
    ] {
        assert_eq!(world.exits(2, words).1, printed);
    }
    std::fs::create_dir_all(world.path("all/one")).unwrap();
    std::fs::write(world.path("all/one/plan.json"), "").unwrap();
    std::fs::write(world.path("study.toml"), "name = \"study\"\n").unwrap();
    for (words, line) in [
        (&["load", "point_select", "run", "now"][..], "error: unexpected argument 'now'\n"),
        (&["load", "point_select", "--rate", "-1"], "'-1': no option takes a negative number\n"),
        (&["run", "--threads", "4"], "  do now: set the study's key: --set workload.threads=VALUE. Else see "),
        (&["run", "--threads", "4"], "error: unexpected argument '--threads'\n  do now: "),
        (&["run", "--time", "30"], "  do now: set the study's key: --set sampling.sample_s=VALUE. Else see "),
        (&["ab", "--table-size", "30"], "  do now: set the study's key: --set workload.rows=VALUE. Else see "),
        (&["run", "--command", "true", "--warmup", "3"], "  do now: did you mean `--warmup-runs`? Else see "),
        (&["load", "point_select", "-c", "4"], "'-c'\n  do now: did you mean `--threads`? Else see "),
        (&["run", "sleep", "0.1"], "error: unexpected argument '0.1'\n"),
        (&["run", "sleep 0.1"], "  do now: to measure a program: tare run --command 'sleep 0.1'\n"),
        (&["run", "/bin/true"], "  do now: to measure a program: tare run --command /bin/true\n"),
        (&["ab", "threads=1", "threads=2"], "  expected: tare ab --a <SIDE> --b <SIDE> [OPTIONS]\n"),
        (&["doctor", "--spin", "x"], "  expected: a number\n"),
        (&["shard", "first-look", "--into", "x"], "  expected: a whole number\n"),
        (&["shard", "first-look", "--into", "0"], "stays on one machine\n"),
        (&["studies", "--engines", "--under", "nothing"], "error: this is not a folder\n  where: nothing\n"),
        (&["topo", "--topology", "node:x"], "  do now: name the parts from the outermost to the innermost, "),
        (&["run", "--command", "true", "--set", "placement.client=nod:0"], "found \"nod\" at byte 0; did you mean"),
        (&["bisect", "a", "b", "--build", "make"], "error: git failed: "),
        (&["bisect", "--builds", "/bin/true", "--command", "{binary}"], "error: this is not a list of builds\n"),
        (&["run", "all/one"], "  do now: these are results: tare show all/one, or tare run --resume all/one\n"),
        (&["show", "study.toml"], "  do now: run a study with: tare run study.toml\n"),
        (&["show", "all"], "  do now: name one of the results in it, such as all/one\n"),
        (&["run", "--command", "true", "--out=all"], "  do now: choose another --out, or resume what is there with "),
    ] {
        let (_, err) = world.exits(2, words);
        assert!(err.contains(line) && !err.contains("trials=1"), "{words:?}: {err}");
    }
}

#[test]
fn options_that_exclude_each_other_are_not_shown_as_usable_together() {
    let world = World::new();
    for (words, printed) in [
        (
            &["run", "luck", "--out", "a", "--out", "b"][..],
            "error: '--out <DIR>' was given more than once\n  expected: the option once\n",
        ),
        (
            &["run", "--resume", "a", "luck"],
            "error: '--resume <DIR>' cannot be used with '[STUDY]'\n  expected: one of the two\n",
        ),
    ] {
        let (_, err) = world.exits(2, words);
        assert!(err.contains(printed), "{words:?}: {err}");
    }
}

#[test]
fn options_that_would_have_no_effect_are_refused() {
    let world = World::new();
    for (words, named) in [
        (&["run", "first-look", "--resume", "x"][..], "--resume"),
        (&["run", "first-look", "--shard", "x", "0"], "--shard"),
        (&["why", "x", "y", "--within", "1h"], "--prove"),
        (&["why", "x", "y", "--trust"], "--prove"),
        (&["export", "x", "--format", "markdown", "--table", "trials"], "--table has no effect on markdown"),
        (&["ab", "--a", "command=true", "--b", "command=true", "--load", "tpcc"], "--load tpcc has no effect"),
        (&["ab", "--certify", "--a", "command=true", "--engine", "mysql"], "--engine mysql has no effect"),
        (&["find", "command=true", "command=false", "--load", "tpcc"], "--load tpcc has no effect"),
    ] {
        let (_, err) = world.exits(2, words);
        assert!(err.contains(named), "{err}");
    }
}

#[test]
fn a_missing_program_is_reported_before_any_trial() {
    let world = World::new();
    let (_, err) = world.exits(3, &["run", "--command", "/nonexistent/prog --fast", "--runs", "3", "--out", "none"]);
    assert!(err.contains("there is no program /nonexistent/prog") && !err.contains("trial 0"), "{err}");
    assert!(!err.contains("do now"), "{err}");
    assert!(!world.path("none").exists());
    let (_, err) = world.exits(2, &["run", "--command", "a 'b"]);
    assert!(err.contains("--command") && err.contains("every quote closed"), "{err}");
    let (_, err) = world.exits(3, &["ab", "--a", "command=/nonexistent/prog", "--b", "command=true", "--dry-run"]);
    assert!(err.contains("side a cannot be measured on this machine: there is no program /nonexistent/prog"), "{err}");
    assert!(!err.contains("do now"), "{err}");
    // A program that `--prepare` creates need not exist at the start.
    let made = format!("cp /bin/true {}", world.path("made").display());
    let program = world.path("made").display().to_string();
    world.exits(0, &["run", "--command", &program, "--prepare", &made, "--runs", "1", "--out", "some"]);
}

#[test]
fn study_keys_are_available_as_a_json_document() {
    let (out, _) = World::new().exits(0, &["studies", "--keys", "--json"]);
    let document = json(&out);
    assert_eq!((&document["schema"], &document["version"]), (&"tare-keys".into(), &1.into()));
    let keys = document["keys"].as_array().unwrap();
    for (section, name) in [("engine", "socket"), ("sampling", "trials"), ("machine", "thp")] {
        let found = keys.iter().find(|key| key["section"] == section && key["name"] == name);
        assert!(found.is_some_and(|key| key["help"].as_str().is_some_and(|help| !help.is_empty())), "{section}.{name}");
    }
}

#[test]
fn a_client_program_is_refused_where_a_server_is_expected() {
    let world = World::new();
    let (_, err) = world.exits(2, &["run", "--engine", "mariadb", "--binary", "/usr/bin/mariadb", "--dry-run"]);
    assert!(err.contains("/usr/bin/mariadb: is a client, not a server"), "{err}");
    // Without a named engine, a program that is not a server is not taken for the embedded one.
    for program in ["/usr/bin/mariadb", "/bin/ls"] {
        let (_, err) = world.exits(2, &["run", "--binary", program, "--dry-run"]);
        assert!(err.contains(&format!("{program}: is not the server of a known engine")), "{err}");
    }
    // The embedded one is this program.
    world.exits(0, &["run", "--binary", env!("CARGO_BIN_EXE_tare"), "--dry-run"]);
    // An existing program is not measured without the missing one.
    let server = Mariadb.binary(None).unwrap().path.display().to_string();
    let (_, err) = world.exits(2, &["run", "--binary", &server, "--binary", "/nonexistent", "--dry-run"]);
    assert!(err.contains("/nonexistent: the file does not exist"), "{err}");
    assert!(err.contains("\n  where: --binary /nonexistent\n  do now: name a server; "), "{err}");
    let (_, err) = world.exits(3, &["ab", "--a", "binary=10.11", "--b", "binary=10.11", "--dry-run"]);
    assert!(err.contains("side a cannot be") && err.contains("10.11: the file does not exist"), "{err}");
}

#[test]
fn a_metric_that_no_load_has_is_refused_before_the_first_pair() {
    let world = World::new();
    let sides = ["ab", "--a", "command=true", "--b", "command=true"];
    let race = ["find", "command=true", "command=false"];
    let builds = ["bisect", "--builds", "/bin/true,/bin/false", "--command", "{binary}"];
    for words in [&[&sides[..], &["--control", "wal_s"]].concat()[..], &sides, &race, &builds] {
        let (_, err) = world.exits(2, &[words, &["--metric", "wal_s", "--dry-run"]].concat());
        assert!(err.contains("no load has the metric `wal_s`") && err.contains("did you mean `wall_s`?"), "{err}");
    }
    // A control that is what is compared, or may be.
    let itself = ["--metric", "user_s", "--control", "user_s", "--dry-run"];
    let (_, err) = world.exits(2, &[&sides[..], &itself].concat());
    assert!(err.contains("`user_s` is the metric that is compared") && err.contains("leave out --control"), "{err}");
    let (_, err) = world.exits(2, &[&sides[..], &["--control", "wall_s", "--dry-run"]].concat());
    assert!(err.contains("`wall_s` may be the metric") && err.contains("--metric NAME"), "{err}");
    world.exits(0, &[&sides[..], &["--metric", "user_s", "--control", "wall_s", "--dry-run"]].concat());
    // A side written as --set writes the key.
    let (_, err) = world.exits(2, &["ab", "--a", "process.aslr=off", "--b", "aslr=on"]);
    assert!(err.contains("process.aslr=off is not a side") && err.contains("mean aslr?)"), "{err}");
    // An option of the server without its prefix.
    let (_, err) = world.exits(2, &["ab", "--a", "shared_buffers=1GB", "--b", "aslr=on"]);
    assert!(err.contains("; for an option of the server: option.shared_buffers\n"), "{err}");
    // A metric of another load.
    let (_, err) = world.exits(4, &[&sides[..], &["--metric", "tps", "--budget", "1s"]].concat());
    assert!(err.contains("no trial has the metric `tps`"), "{err}");
}

#[test]
fn an_option_that_one_of_two_builds_lacks_is_reported_with_that_build() {
    let world = World::new();
    let path = Mariadb.binary(None).unwrap().path.display().to_string();
    let without = world.path("without");
    let text = format!("case \"$*\" in *--verbose*) {path} \"$@\" | grep -v spin-wait-delay; exit;; esac\n");
    script(&without, &format!("{text}exec {path} \"$@\""));
    let without = without.display().to_string();
    let (a, b) = (format!("binary={path}"), format!("binary={without}"));
    let set = ["--set", "engine.options.innodb_spin_wait_delay=5", "--dry-run"];
    let sides = ["ab", "--engine", "mariadb", "--a", &a, "--b", &b];
    let (_, err) = world.exits(2, &[&sides[..], &set].concat());
    let printed = format!("at {without} has no option innodb_spin_wait_delay: ");
    assert!(err.contains("side b has an option") && err.contains(&printed), "{err}");
    assert!(err.contains("under [builds.NAME] of a study"), "{err}");
    assert!(!err.contains("do now"), "{err}");
}

#[test]
fn a_misspelled_option_or_file_is_refused_with_the_nearest_name() {
    let world = World::new();
    for (engine, wrong, right) in [
        ("mariadb", "innodb_adaptive_hash_indx", "innodb_adaptive_hash_index"),
        ("postgresql", "shared_bufers", "shared_buffers"),
        ("sqlite", "cash_size", "cache_size"),
    ] {
        let option = format!("{wrong}=1,2");
        let (_, err) = world.exits(2, &["run", "--engine", engine, "--option", &option, "--dry-run"]);
        assert!(err.contains(&format!("{engine} has no option {wrong}: did you mean {right}?")), "{err}");
    }
    let (_, err) = world.exits(2, &["run", "--engine", "sqlite", "--option", "zzqq=1", "--dry-run"]);
    assert!(err.contains("sqlite has no option zzqq: fix its name, or measure an engine that has it"), "{err}");
    std::fs::write(world.path("mine.sql"), "SELECT 1;").unwrap();
    let (_, err) = world.exits(2, &["load", "mein.sql"]);
    assert!(err.contains("do now: did you mean mine.sql?"), "{err}");
    for command in [&["show", "nosuch"][..], &["run", "--resume", "nosuch"]] {
        let (_, err) = world.exits(2, command);
        assert!(
            err.contains("these results do not exist") && err.contains("do now: make some with: tare run"),
            "{err}"
        );
    }
    world.exits(0, &["run", "--command", "true", "--runs", "1", "--out", "first"]);
    std::fs::create_dir(world.path("empty")).unwrap();
    for (command, found) in
        [("show", "a CSV file"), ("report", "a CSV file"), ("clean", "expected: a results directory\n")]
    {
        let (_, err) = world.exits(2, &[command, "nosuch"]);
        assert!(err.contains(found), "{err}");
    }
    for missing in ["nosuch", "empty"] {
        let (_, err) = world.exits(2, &["show", missing]);
        assert!(err.contains("do now: the latest results are ") && err.ends_with("/first\n"), "{err}");
    }
    world.exits(0, &["run", "--command", "true", "--runs", "1", "--out", "second"]);
    let (_, err) = world.exits(2, &["show", "nosuch"]);
    assert!(err.contains("/second; see all of them with: tare clean --dry-run"), "{err}");
}

#[test]
fn a_plan_for_a_running_server_or_a_program_needs_no_memory_or_disk() {
    let theirs = Theirs::new(&Mariadb);
    let (out, _) = theirs.world.exits(0, &["run", &theirs.study(""), "--dry-run"]);
    assert!(out.contains("left to the OS") && !out.contains("needs "), "{out}");
    let (out, _) = theirs.world.exits(0, &["run", "--command", "sleep 1", "--dry-run"]);
    assert!(out.contains("about ") && !out.contains("needs "), "{out}");
}

#[test]
fn the_mysql_installed_by_get_mysql_is_found() {
    let world = World::new();
    let (out, _) = world.exits(0, &["run", "--engine", "mysql", "--dry-run"]);
    assert!(out.contains("client 0"), "{out}");
}

#[test]
fn a_placement_key_that_every_level_overrides_is_refused() {
    let world = World::new();
    let (_, err) = world.exits(2, &["run", "--dry-run", "--set", "placement.client=node:7"]);
    assert!(err.contains("`placement.client` would change nothing") && err.contains("placements.NAME.client"), "{err}");
    assert!(err.contains("where: --set placement.client=node:7\n"), "{err}");
    let one = ["run", "--dry-run", "--set", "factors.placement=float", "--set", "placements.float.client=cpus:0"];
    world.exits(0, &one);
    // Some levels leave this key open.
    world.exits(0, &["run", "--dry-run", "--set", "placement.memory=local"]);
}

#[test]
fn a_key_that_every_condition_overrides_is_refused() {
    let world = World::new();
    let study = world.study(
        "name = \"s\"\n[engine]\nname = \"mariadb\"\n[factors]\nthreads = [1, 2]\n\
         option.innodb_adaptive_hash_index = [\"ON\", \"OFF\"]\n",
    );
    let ahi = "innodb_adaptive_hash_index";
    let run = ["run", &study, "--dry-run"];
    let sides = [
        "ab",
        "--dry-run",
        "--engine",
        "mariadb",
        "--a",
        &format!("option.{ahi}=ON"),
        "--b",
        &format!("option.{ahi}=OFF"),
    ];
    for (command, option, expected) in [
        (&run[..], ["--set", "workload.threads=2"], "factors.threads=2"),
        (&run, ["--option", &format!("{ahi}=ON")], &format!("factors.option.{ahi}=ON")),
        (&sides, ["--set", &format!("engine.options.{ahi}=ON")], &format!("sides that leave option.{ahi} open")),
        (&["run", "numa-scaling", "--dry-run"], ["--load", "insert"], "factors.workload=insert"),
        (&sides, ["--set", "factors.threads=1,2"], "sides or levels of this command"),
        (&sides, ["--set", "sampling.trials=5"], "a time for all trials"),
        (&["find", "threads=1,2", "--dry-run"], ["--set", "factors.threads=1,2"], "sides or levels of this command"),
        (&["run", "tpcc", "--dry-run"], ["--set", "placement.client=pu:0"], "placements.NAME.client=pu:0"),
    ] {
        let (_, err) = world.exits(2, &[command, &option].concat());
        assert!(err.contains(&format!("where: {}\n", option.join(" "))), "as it was typed: {err}");
        let err = one_line(&err);
        assert!(err.contains("would change nothing") && err.contains(expected), "{option:?}: {err}");
    }
    // The sides of a comparison replace the factors of the study.
    world.exits(
        0,
        &["ab", "--study", &study, "--dry-run", "--a", "rows=10", "--b", "rows=20", "--set", "workload.threads=2"],
    );
}

#[test]
fn all_unusable_lines_of_an_option_file_are_reported_at_once() {
    let world = World::new();
    std::fs::write(
        world.path("my.cnf"),
        "[mysqld]\nkey_buffer = 16M\nquery_cash_size = 1\ninnodb_buffer_pool_size = 900T\ninnodb_log_filez = 2\n\
         query_zone_size = 3\n",
    )
    .unwrap();
    let study = world.study(
        "name = \"own\"\n[engine]\nname = \"mariadb\"\ndefaults_file = \"my.cnf\"\n[workload]\nrows = 500\n\
         [sampling]\ntrials = 1\nwarmup_s = 0\nsample_s = 0.2\n",
    );
    for words in [&["run", &study, "--dry-run"][..], &["run", &study, "--out", "none"]] {
        let (_, err) = world.exits(3, words);
        for line in
            ["my.cnf:3: MariaDB", "no option query_cash_size", "my.cnf:5: MariaDB", "no option innodb_log_filez"]
        {
            assert!(err.contains(line), "{line}: {err}");
        }
        assert!(err.contains("my.cnf:4: innodb_buffer_pool_size asks for") && err.contains("leave_out"), "{err}");
        assert!(!err.contains("key_buffer"), "{err}");
    }
    assert!(!world.path("none").exists());
    let left = ["--set", "engine.unknown_options=leave_out", "--set", "engine.options.innodb_buffer_pool_size=64M"];
    let (_, err) = world.exits(3, &[&["run", &study, "--dry-run"][..], &left[..2]].concat());
    assert!(err.contains("my.cnf:4") && !err.contains("query_cash_size"), "{err}");
    // The study's own setting for this case.
    world.exits(0, &[&["run", &study, "--out", "some"][..], &left].concat());
    let plan = json(&std::fs::read_to_string(world.path("some/plan.json")).unwrap());
    let left: Vec<&str> =
        plan["left_out"].as_array().unwrap().iter().map(|out| out["setting"].as_str().unwrap()).collect();
    assert_eq!(left, ["query_cash_size", "innodb_log_filez", "query_zone_size"], "in the order of the file: {plan}");
    let (shown, _) = world.exits(0, &["show", "some"]);
    assert!(one_line(&shown).contains("Without innodb_log_filez = 2: my.cnf:5: MariaDB"), "{shown}");
}
