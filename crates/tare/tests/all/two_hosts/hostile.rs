//! A compromised host of a run on two: it cannot name local files or threads, affect the terminal, or block the run.

use crate::support::{Ended, World, names, script, send, text, trials, wait_until, words_of};
use crate::two_hosts::far::{no_way, program, section};
use rustix::process::Signal;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// A study whose clients are run by `script`, which gets the command of the real clients' half as its arguments.
fn study(world: &World, script: &str) -> String {
    let path = world.path("taken-over.sh");
    // Only the clients' half is replaced; other commands run as they are.
    let head = "for last; do :; done\n[ \"$last\" = client-agent ] || exec \"$@\"\n";
    std::fs::write(&path, format!("{head}{script}")).unwrap();
    let words = [vec!["sh".to_owned(), path.display().to_string()], program(world, &[])].concat();
    let client = section("far", &no_way(), &words, Some("127.0.0.1"));
    world.study(&format!(
        "name = \"hostile\"\n[engine]\nname = \"sqlite\"\ntransport = \"tcp\"\n[workload]\nname = \"point_select\"\n\
         rows = 10\nthreads = 1\n{client}[placement]\nclient = \"pu:1\"\nserver = \"pu:0\"\nbind = \"thread\"\n\
         [sampling]\ntrials = 1\nwarmup_s = 0.1\nsample_s = 0.2\nattempts = 1\n"
    ))
}

/// The reason why the trial of a run with this script failed.
fn reason(world: &World, script: &str) -> String {
    let study = study(world, script);
    let ended = world.tare(&["run", &study, "--out", "results"]).output().unwrap();
    assert!(!ended.status.success(), "{}", text(&ended.stderr));
    trials(&world.path("results"))[0]["reason"].as_str().unwrap_or_default().to_owned()
}

#[test]
fn a_thread_named_by_the_client_host_is_bound_only_if_it_is_the_servers() {
    let world = World::new();
    // A process that does not belong to the server.
    let stranger = Ended(Command::new("sleep").arg("100").spawn().unwrap());
    let pid = stranger.0.id();
    let allowed = || {
        let status = std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap();
        status.lines().find(|line| line.starts_with("Cpus_allowed_list")).unwrap().to_owned()
    };
    let before = allowed();
    let script = format!("\"$@\" | sed -u 's/\"connected\":\\[[^]]*\\]/\"connected\":[{pid}]/'\n");
    let reason = reason(&world, &script);
    assert!(reason.contains(&format!("thread {pid}")) && reason.contains("no process of the server"), "{reason}");
    assert_eq!(allowed(), before, "it runs where it did");
    world.assert_clean();
}

#[test]
fn a_file_named_by_the_server_host_is_not_read_on_the_client_host() {
    let world = World::new();
    let script = "sed -u 's:\"settings\"\\:{:&\"workload.file\"\\:\"/etc/passwd\",:' | \"$@\"\n";
    let reason = reason(&world, script);
    assert!(reason.contains("workload.file: it was not read"), "{reason}");
    world.assert_clean();
}

#[test]
fn the_server_host_can_order_no_more_samples_than_a_trial_may_have() {
    for (ordered, instead, refused) in [
        ("\"samples\":1,", "\"samples\":1000000000000,", "1000000000000 samples: at most 100000"),
        ("\"sample_s\":0.2,", "\"sample_s\":1e300,", "a warm-up or sample of 1e300 s"),
        ("\"warmup_s\":0.1,", "\"warmup_s\":-1,", "a warm-up or sample of -1e0 s"),
    ] {
        let world = World::new();
        let reason = reason(&world, &format!("sed -u 's/{ordered}/{instead}/' | \"$@\"\n"));
        assert!(reason.contains(refused), "{reason}");
        world.assert_clean();
    }
}

#[test]
fn connections_and_samples_that_the_client_host_makes_up_fail_the_trial() {
    for (edit, refused) in [
        ("s/\"connected\":\\[[^]]*\\]/\"connected\":[]/", "a sample begins with 0 connections, expected 1"),
        ("s/\"samples\":\\[{.*\\],\"applied\"/\"samples\":[],\"applied\"/", "it sent 0 samples, expected 1"),
        ("s/\"elapsed_s\":[^,]*,\"operations\"/\"elapsed_s\":1e300,\"operations\"/", "it sent a sample of 1e300 s"),
    ] {
        let world = World::new();
        let reason = reason(&world, &format!("\"$@\" | sed -u '{edit}'\n"));
        assert!(reason.contains(refused), "{reason}");
        world.assert_clean();
    }
}

#[test]
fn the_server_host_can_name_no_file_of_the_clients_host() {
    let world = World::new();
    let named = "s|\"settings\":{|&\"workload.file\":\"/etc/passwd\",|";
    let reason = reason(&world, &format!("sed -u '{named}' | \"$@\"\n"));
    assert!(reason.contains("the other host named a local file, workload.file"), "{reason}");
    world.assert_clean();
}

/// The messages have no field for any of these, as the enumeration of [`tare_study::hosts::message`] shows; fields that
/// a changed program adds have no effect, nor has a text that is a path or has the form of a variable.
#[test]
fn the_client_host_can_name_no_program_file_or_variable() {
    let world = World::new();
    script(&world.path("planted"), "touch \"$0.ran\"");
    std::fs::write(world.path("private"), "content of a file").unwrap();
    let [program, file] = ["planted", "private"].map(|name| world.path(name).display().to_string());
    let fields = format!(
        "\"program\":[\"{program}\"],\"client.program\":[\"{program}\"],\"engine.binary\":\"{program}\",\
         \"workload.file\":\"{file}\",\"file\":\"{file}\",\"path\":\"{file}\",\"environment_of\":\"$PLANTED\",\
         \"pid\":1,\"tid\":1,\"variables\":{{\"LD_PRELOAD\":\"{program}\"}},"
    );
    // In each message that has fields, and in place of every name: of the host, its command, its threads.
    let objects = ["hello", "Ok", "Err"].map(|object| format!("s|\"{object}\":{{|&{fields}|;"));
    let lists = ["samples", "holds"].map(|list| format!("s|\"{list}\":\\[{{|&{fields}|;"));
    let words = [("name", &program), ("command", &program), ("cpu_model", &file), ("os", &"$PLANTED".to_owned())]
        .map(|(name, text)| format!("s|\"{name}\":\"[^\"]*\"|\"{name}\":\"{text}\"|g;"));
    let edits = [objects.concat(), lists.concat(), words.concat()].concat();
    let study = study(&world, &format!("\"$@\" | sed -u '{edits}'\n"));
    let ended =
        world.tare(&["run", &study, "--out", "results"]).env("PLANTED", "value of a variable").output().unwrap();
    assert!(ended.status.success(), "{}", text(&ended.stderr));
    world.exits(0, &["report", "results", "--out", "page.html"]);
    let (shown, _) = world.exits(0, &["show", "results", "--json"]);
    assert!(!world.path("planted.ran").exists(), "it was started");
    let results = world.path("results");
    let pages = names(&results).into_iter().map(|name| results.join(name)).chain([world.path("page.html")]);
    let texts = pages.filter(|path| path.is_file()).map(|path| text(&std::fs::read(path).unwrap())).chain([shown]);
    let all = texts.collect::<String>();
    assert!(all.contains(&program) && all.contains(&file) && all.contains("$PLANTED"), "the names are shown as text");
    assert!(!all.contains("content of a file") && !all.contains("value of a variable"));
    world.assert_clean();
}

#[test]
fn messages_of_the_client_host_are_shown_but_never_begin_a_line() {
    let world = World::new();
    let script = "\"$@\" </dev/null\nprintf 'x\\n::stop-commands::owned\\n\\033]0;owned\\007' >&2\nexit 1\n";
    let study = study(&world, script);
    let ended = world.tare(&["run", &study, "--out", "results"]).output().unwrap();
    let printed = text(&ended.stderr) + &text(&ended.stdout);
    assert!(!ended.status.success() && printed.contains("::stop-commands::owned"), "{printed}");
    assert!(!printed.contains('\x1b') && !printed.lines().any(|line| line.trim_start().starts_with("::")), "{printed}");
    world.assert_clean();
}

/// The largest memory, in KiB, and number of descriptors that the run and its trials had until they ended.
fn most_used(world: &World, args: &[&str]) -> (u64, usize) {
    let mut run = world.begin(args);
    let (mut memory, mut descriptors) = (0, 0);
    while run.try_wait().unwrap().is_none() {
        let is_ours = |pid: &u32| words_of(*pid).get(1).is_some_and(|word| word == "run" || word == "trial");
        for pid in world.processes().into_iter().filter(is_ours) {
            let status = std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
            let peak =
                status.lines().find_map(|line| line.strip_prefix("VmHWM:")?.strip_suffix("kB")?.trim().parse().ok());
            memory = memory.max(peak.unwrap_or(0));
            descriptors = descriptors.max(names(Path::new(&format!("/proc/{pid}/fd"))).len());
        }
        std::thread::sleep(Duration::from_millis(10));
    }
    (memory, descriptors)
}

#[test]
fn a_flood_from_the_client_host_takes_little_memory_and_few_descriptors() {
    // Keep-alive lines as fast as they are read; a line without an end.
    for flood in ["yes ''", "tr '\\0' a </dev/zero"] {
        let world = World::new();
        let study = study(&world, &format!("\"$@\" </dev/null\n{flood}\n"));
        let limit = "sampling.trial_timeout_s=4";
        let (memory, descriptors) = most_used(&world, &["run", &study, "--out", "results", "--set", limit]);
        assert!((10 << 10..300 << 10).contains(&memory) && (5..50).contains(&descriptors), "{memory} {descriptors}");
        world.assert_clean();
    }
}

#[test]
fn one_ctrl_c_ends_a_run_whose_client_host_never_answers_or_ends() {
    let world = World::new();
    // It introduces itself, and then only sends keep-alive lines; it does not end when the connection is closed.
    let study = study(&world, "\"$@\" </dev/null\ntrap '' HUP INT TERM\nwhile echo; do sleep 0.2; done\n");
    for (moment, word) in ["client-agent", "trial"].into_iter().enumerate() {
        let out = format!("results-{moment}");
        let mut run = world.begin(&["run", &study, "--out", &out]);
        let is_there = |pid: u32| words_of(pid).iter().any(|found| found == word);
        wait_until(word, 60, || world.processes().into_iter().any(is_there));
        std::thread::sleep(Duration::from_millis(700));
        let began = Instant::now();
        send(run.id(), Signal::INT);
        wait_until("the run's end", 60, || run.try_wait().unwrap().is_some());
        assert!(began.elapsed() < Duration::from_secs(3), "{word}: {:?}", began.elapsed());
        wait_until("no process left", 5, || world.processes().is_empty());
    }
    world.assert_clean();
}

#[test]
fn a_host_refuses_more_client_agents_than_its_limit() {
    let world = World::new();
    let start = || {
        let mut agent = world.tare(&["client-agent"]);
        agent.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
    };
    // Each has introduced itself, and waits.
    let mut waiting: Vec<Child> = (0..4).map(|_| start()).collect();
    for agent in &mut waiting {
        let mut line = String::new();
        BufReader::new(agent.stdout.as_mut().unwrap()).read_line(&mut line).unwrap();
        assert!(line.contains("hello"), "{line}");
    }
    let refused = start().wait_with_output().unwrap();
    assert_eq!(refused.status.code(), Some(3), "{}", text(&refused.stdout));
    assert!(refused.stdout.is_empty() && text(&refused.stderr).contains("run here already"));
    for mut agent in waiting {
        drop(agent.stdin.take());
        agent.wait().unwrap();
    }
    let next = start().wait_with_output().unwrap();
    assert!(text(&next.stdout).contains("hello"), "{}", text(&next.stderr));
    world.assert_clean();
}
