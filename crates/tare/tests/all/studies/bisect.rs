//! `tare bisect`: a known slow commit in a generated repository, with one commit that cannot be built, and killed,
//! interrupted and resumed runs; builds without git; ends that do not differ.

use super::ab::take_turns;
use crate::support::{Ended, QUIET, World, json, script, send, trials, wait_for_trials, wait_until, words_of};
use rustix::process::Signal;
use serde_json::Value;
use std::collections::BTreeSet;
use std::fs::Permissions;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::time::Instant;

/// The cost of a commit is the time that its program sleeps.
const BUILD: &str = "test ! -e broken || exit 125; test $(git rev-parse HEAD) = $TARE_COMMIT || exit 1; \
                     while test -e ../../../../hold; do touch ../../../../held; sleep 0.05; done; \
                     echo built $TARE_COMMIT >> ../../../built; \
                     printf '#!/bin/sh\\nexec sleep %s\\n' $(cat cost) > bench; chmod +x bench; echo bench";

fn git(folder: &Path, words: &[&str]) -> String {
    let own = ["-c", "user.name=A", "-c", "user.email=a@b", "-c", "commit.gpgsign=false"];
    let out = Command::new("git").arg("-C").arg(folder).args(own).args(words).output().unwrap();
    assert!(out.status.success(), "{words:?} {}", String::from_utf8_lossy(&out.stderr));
    String::from_utf8(out.stdout).unwrap().trim().to_owned()
}

/// Seven commits after the first: the fifth one, a merge, is slow, and the fourth cannot be built.
fn repository(world: &World) -> Vec<String> {
    let folder = world.directory.path();
    git(folder, &["init", "--quiet", "--template="]);
    let commit = |n: usize| {
        std::fs::write(folder.join("cost"), if n < 5 { "0.04" } else { "0.12" }).unwrap();
        std::fs::write(folder.join("number"), n.to_string()).unwrap();
        let broken = folder.join("broken");
        let _ = if n == 4 { std::fs::write(&broken, "") } else { std::fs::remove_file(&broken) };
        if n == 5 {
            git(folder, &["checkout", "--quiet", "-b", "side"]);
            git(folder, &["commit", "--quiet", "--allow-empty", "-m", "aside"]);
            git(folder, &["checkout", "--quiet", "-"]);
            git(folder, &["merge", "--quiet", "--no-ff", "--no-commit", "--strategy=ours", "side"]);
        }
        git(folder, &["add", "--all", "cost", "number"]);
        let _ = Command::new("git").arg("-C").arg(folder).args(["add", "--all", "broken"]).output();
        git(folder, &["commit", "--quiet", "-m", &format!("change {n}")]);
        git(folder, &["rev-parse", "HEAD"])
    };
    (0..8).map(commit).collect()
}

#[test]
fn a_slow_commit_is_found_despite_a_broken_build_and_interruptions() {
    let world = World::new();
    let commits = repository(&world);
    let words = [commits[0].as_str(), "HEAD"];
    let all =
        [&["bisect"], &words[..], &["--build", BUILD, "--command", "{binary}", "--minimum-effect", "10%"]].concat();
    let (planned, _) = world.exits(0, &[&all[..], &["--dry-run", "--json"]].concat());
    let planned = json(&planned);
    assert_eq!((&planned["schema"], &planned["commits"]), (&"tare-bisect-dry-run".into(), &7.into()), "{planned}");
    assert!(!world.path("built").exists(), "a rehearsal builds nothing");
    // Another user could put commits there.
    let open = |mode| std::fs::set_permissions(world.path(".git/objects"), Permissions::from_mode(mode)).unwrap();
    open(0o777);
    let (_, err) = world.exits(2, &[&all[..], &["--dry-run"]].concat());
    assert!(err.contains("others may write to") && err.contains("--trust"), "{err}");
    open(0o755);
    let before = git(world.directory.path(), &["status", "--porcelain", "--untracked-files=no"]);

    let all = [&all[..], &QUIET[..], &["--out", "found", "--seed", "4"]].concat();
    let (resume, ends) = (["bisect", "--resume", "found"], world.path("found/pairs/0000-0007"));
    std::fs::write(world.path("hold"), "").unwrap();
    ended(&world, &all, Signal::KILL, || wait_until("a build", 60, || world.path("held").exists()));
    std::fs::remove_file(world.path("hold")).unwrap();
    let output = ended(&world, &resume, Signal::INT, || wait_for_trials(&ends, 3));
    let err = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(130), "{err}");
    assert!(err.contains("tare bisect --resume found"), "{err}");
    let before_kill = trials(&ends);
    ended(&world, &resume, Signal::KILL, || wait_for_trials(&ends, before_kill.len() + 1));
    let before_end = trials(&ends);

    let (out, err) = world.exits(0, &["bisect", "--resume", "found", "--json"]);
    let records = trials(&ends);
    assert_eq!(before_kill[..], before_end[..before_kill.len()], "an ended trial was touched");
    assert_eq!(before_end[..], records[..before_end.len()], "an ended trial was touched");
    let measured: BTreeSet<String> = records.iter().map(|record| record["trial"].to_string()).collect();
    assert_eq!(measured.len(), records.len(), "a trial was measured twice");
    let found = json(&out);
    assert_eq!((&found["schema"], &found["outcome"]), (&"tare-bisect".into(), &"found".into()), "{found}{err}");
    let first: Vec<&str> = found["first"].as_array().unwrap().iter().map(|c| c["commit"].as_str().unwrap()).collect();
    assert_eq!(first, [&commits[4], &commits[5]], "{found}");
    assert_eq!(found["first"][1]["subject"], "change 5");
    assert_eq!(found["skipped"], Value::from(vec![commits[4].as_str()]), "{found}");
    assert!(found["probability"].as_f64().unwrap() >= 0.95, "{found}");
    let figure = |name: &str| found["step"][name].as_f64().unwrap();
    assert!(figure("ci_low") > 1.2 && figure("slowdown") < 3.5 && found["step"]["verdict"] == "slower", "{found}");
    // A program has no transactions whose time could be measured.
    assert_eq!(found["why"], Value::Null);
    let side = git(world.directory.path(), &["rev-parse", "side"]);
    assert_eq!(found["inside"], format!("tare bisect \"$(git merge-base {} {side})\" {side}", commits[4]));
    // Every commit is built at most once, and the user's tree is unchanged.
    let built = std::fs::read_to_string(world.path("found/built")).unwrap();
    let mut built: Vec<&str> = built.lines().collect();
    built.sort_unstable();
    let all = built.len();
    built.dedup();
    assert_eq!(all, built.len(), "{built:?}");
    assert_eq!(found["builds"].as_u64().unwrap() as usize, all, "{found}");
    assert_eq!(git(world.directory.path(), &["status", "--porcelain", "--untracked-files=no"]), before);
    assert_eq!(git(world.directory.path(), &["worktree", "list", "--porcelain"]).matches("worktree ").count(), 1);
    // A build that was replaced is not a measurement of its commit.
    std::fs::write(world.path(&format!("found/builds/{}/source/bench", commits[0])), "#!/bin/sh\nexec sleep 1\n")
        .unwrap();
    let (_, err) = world.exits(4, &resume);
    assert!(err.contains("a build has changed") && err.contains("SHA-1"), "{err}");
    world.assert_clean();
}

/// Runs a command as in a hook of the repository, and sends it a signal when `as_soon_as` returns.
fn ended(world: &World, words: &[&str], signal: Signal, as_soon_as: impl Fn()) -> Output {
    let mut run = world.tare(words);
    run.env("GIT_DIR", world.path(".git")).env("GIT_INDEX_FILE", world.path(".git/index"));
    let run = run.stderr(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    as_soon_as();
    send(run.id(), signal);
    run.wait_with_output().unwrap()
}

fn program(world: &World, name: &str, sleeps: &str) -> String {
    let path = world.path(name);
    script(&path, &format!("exec sleep {sleeps}"));
    path.display().to_string()
}

#[test]
fn a_list_of_builds_is_bisected_unless_its_ends_do_not_differ() {
    let world = World::new();
    let sleeps = ["0.04", "0.04", "0.12", "0.12"];
    let builds: Vec<String> = sleeps.iter().enumerate().map(|(n, s)| program(&world, &format!("v{n}"), s)).collect();
    std::fs::create_dir(world.path("sub")).unwrap();
    std::fs::write(world.path("builds.txt"), "# oldest first\nsub/../v0\nsub/../v1\nsub/../v2\nsub/../v3\n").unwrap();
    let more = [&["--command", "{binary}", "--minimum-effect", "40%", "--json"], &QUIET[..]].concat();
    let (out, err) = world.exits(0, &[&["bisect", "--builds", "builds.txt", "--out", "a"], &more[..]].concat());
    let found = json(&out);
    assert_eq!(
        (&found["outcome"], &found["first"][0]["commit"]),
        (&"found".into(), &builds[2].as_str().into()),
        "{err}"
    );
    assert_eq!((found["first"].as_array().unwrap().len(), &found["part_of_the_whole"]), (1, &false.into()), "{found}");
    // The folder of a bisection is no results directory, but it has some.
    let (_, err) = world.exits(2, &["why", "a"]);
    assert!(err.contains("a bisection, whose pairs are results: a/pairs/0001-0002-step"), "{err}");
    let equal = [builds[0].as_str(), &builds[1]].join(", ");
    let (out, _) = world.exits(0, &[&["bisect", "--builds", &equal, "--out", "b"], &more[..]].concat());
    let found = json(&out);
    assert_eq!((&found["outcome"], &found["first"]), (&"no_difference".into(), &Value::Array(vec![])), "{found}");
    assert!(found["text"].as_str().unwrap().starts_with("No difference to bisect: "), "{found}");
    let (out, _) = world.exits(0, &["bisect", "--resume", "b"]);
    assert!(out.contains("A/A here"), "{out}");
}

/// What made the second build slow does so only until its pairs with the one before begin.
#[test]
fn a_step_that_is_not_shown_is_not_named() {
    let world = World::new();
    let (fast, slow) = (program(&world, "v0", "0.04"), world.path("v1"));
    let step = world.path("a/pairs/0000-0001-step");
    script(&slow, &format!("test -e {} && exec sleep 0.04; exec sleep 0.12", step.display()));
    let builds = format!("{fast},{}", slow.display());
    let words = ["bisect", "--builds", &builds, "--command", "{binary}", "--minimum-effect", "40%", "--out", "a"];
    let (out, err) = world.exits(5, &[&words[..], &QUIET, &["--json"]].concat());
    let found = json(&out);
    assert_eq!((&found["outcome"], &found["first"]), (&"undecided".into(), &Value::Array(vec![])), "{found}{err}");
    assert_eq!((&found["step"]["verdict"], &found["step"]["stopped"]), (&"equivalent".into(), &"settled".into()));
    assert_eq!(found["ends"]["verdict"], "slower", "{found}");
    assert!(found["likely"][0]["probability"].as_f64().unwrap() >= 0.95 && found["probability"].is_null(), "{found}");
    assert!(found["text"].as_str().unwrap().ends_with("; the step is not confirmed."), "{found}");
    let (out, _) = world.exits(5, &["bisect", "--resume", "a"]);
    assert!(out.contains("unconfirmed  the two differ by less than 40%: several commits"), "{out}");
}

/// Each end takes a second to build, and they do not differ.
#[test]
fn the_budget_includes_builds_and_an_undecided_bisection_gets_more_of_it() {
    let world = World::new();
    let commits = repository(&world);
    let build = "sleep 1; printf '#!/bin/sh\nexec sleep 0.05\n' > bench; chmod +x bench; echo bench";
    let words = ["bisect", &commits[0], "HEAD", "--build", build, "--command", "{binary}", "--minimum-effect", "0.01%"];
    let (out, err) = world.exits(5, &[&words[..], &QUIET, &["--budget", "4s", "--out", "x", "--json"]].concat());
    let ends = world.path("x/pairs/0000-0007");
    let left_s =
        || json(&std::fs::read_to_string(ends.join("plan.json")).unwrap())["settle"]["budget_s"].as_f64().unwrap();
    let (before, left) = (trials(&ends), left_s());
    assert!(left < 2.0 && json(&out)["ends"]["stopped"] == "budget", "{left} {out}");
    assert!(err.contains("the time is over; resume with: tare bisect --resume x --budget 1min"), "{err}");
    let (out, _) = world.exits(5, &["bisect", "--resume", "x", "--budget", "7s", "--json"]);
    let (found, after) = (json(&out), trials(&ends));
    assert!((left_s() - left - 3.0).abs() < 1e-6 && after.len() > before.len(), "{found}");
    assert_eq!(after[..before.len()], before[..], "an ended trial was touched");
    assert!(found["elapsed_s"].as_f64().unwrap() < 8.0, "{found}");
}

/// The main line became slow before it merged the good commit.
#[test]
fn a_good_commit_of_a_side_branch_is_followed_by_the_merge_that_contains_it() {
    let world = World::new();
    let commits = repository(&world);
    let at = world.directory.path();
    git(at, &["checkout", "--quiet", "-b", "good", &commits[1]]);
    git(at, &["commit", "--quiet", "--allow-empty", "-m", "good"]);
    git(at, &["checkout", "--quiet", "--detach", &commits[7]]);
    git(at, &["merge", "--quiet", "--no-ff", "--strategy=ours", "-m", "merge", "good"]);
    let words = ["bisect", "good", "HEAD", "--build", BUILD, "--command", "{binary}", "--minimum-effect", "10%"];
    let found = json(&world.exits(0, &[&words[..], &QUIET, &["--out", "x", "--json"]].concat()).0);
    let merge = git(at, &["rev-parse", "HEAD"]);
    assert_eq!((&found["commits"], &found["first"][0]["commit"]), (&1.into(), &merge.into()), "{found}");
    let inside =
        format!("tare bisect \"$(git merge-base {} {})\" {}", found["good"].as_str().unwrap(), commits[7], commits[7]);
    assert_eq!(found["inside"], inside);
}

/// The third of three builds of the embedded engine holds a lock in every statement.
#[test]
fn server_builds_are_bisected_with_alternating_samples() {
    let world = World::new();
    let tare = env!("CARGO_BIN_EXE_tare");
    let slow =
        format!("case \"$*\" in *--run-directory*) exec {tare} \"$@\" --option tare_planted_lock_us=500;; esac\n");
    let build = |(number, lines): (usize, &str)| {
        let path = world.path(&format!("v{number}"));
        script(&path, &format!("{lines}exec {tare} \"$@\""));
        path.display().to_string()
    };
    let builds: Vec<String> = ["", "", &slow].into_iter().enumerate().map(build).collect();
    let list = builds.join(",");
    let short = ["--set", "sampling.sample_s=0.4", "--set", "sampling.warmup_s=0.1", "--set", "workload.rows=1000"];
    let what = ["bisect", "--builds", &list, "--engine", "sqlite", "--load", "point_select"];
    let words = [&what[..], &short, &QUIET, &["--minimum-effect", "30%"]].concat();
    let (_, err) = world.exits(2, &[&words[..], &["--interleave", "--set", "workload.rate=100"]].concat());
    assert!(err.contains("cannot rest") && !err.contains("build"), "{err}");
    world.exits(2, &["bisect", "--builds", &list, "--interleave", "--command", "{binary}"]);
    let (out, err) = world.exits(0, &[&words[..], &["--json", "--out", "found", "--seed", "4"]].concat());
    let found = json(&out);
    let first = &found["first"][0]["commit"];
    assert_eq!((&found["outcome"], first), (&"found".into(), &builds[2].as_str().into()), "{found}{err}");
    assert_eq!(found["interleaved"], true, "{found}");
    // The command that explains the step against its predecessor works as printed.
    let sides: Vec<&str> = found["why"].as_str().unwrap().split('\'').skip(1).step_by(2).collect();
    let (out, _) = world.exits(0, &[&["why"], &sides[..]].concat());
    assert!(out.contains("not explained"), "{out}");
    let out = out.split_whitespace().collect::<Vec<_>>().join(" ");
    let explained = found["why_text"].as_str().unwrap();
    assert!(explained.contains(" longer ") && out.starts_with(explained), "{explained}: {out}");
    // What holds the lock is known by its callers, which only the confirming step records.
    let (step, others): (Vec<_>, Vec<_>) = std::fs::read_dir(world.path("found/pairs"))
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .partition(|folder| folder.to_str().unwrap().ends_with("-step"));
    let waits = |folders: &[PathBuf]| -> Vec<bool> {
        let records = folders.iter().flat_map(|folder| trials(folder));
        records.map(|record| record["captures"]["waits"].is_string()).collect()
    };
    assert!(waits(&step).iter().all(|recorded| *recorded) && !waits(&step).is_empty(), "{step:?}");
    assert!(!waits(&others).contains(&true) && found["certificate"].is_null(), "{others:?}");
    // The ends, the search between them, and the confirming step.
    let pairs: Vec<_> =
        std::fs::read_dir(world.path("found/pairs")).unwrap().map(|entry| entry.unwrap().path()).collect();
    assert!(pairs.len() >= 3, "{pairs:?}");
    for folder in pairs {
        let records = trials(&folder);
        assert!(records.len() >= 2, "{}", folder.display());
        records.chunks_exact(2).for_each(|pair| take_turns(&pair[0], &pair[1], 0.4));
    }
    world.assert_clean();
}

/// Between the check and the measurement, the first run replaces the program before the samples.
#[test]
fn a_build_replaced_while_it_is_measured_is_not_attributed_to_its_commit() {
    let world = World::new();
    let kept = program(&world, "kept", "0.04");
    let (other, exchanged) = (world.path("other"), world.path("exchanged"));
    script(&other, "exec sleep 0.041");
    script(&exchanged, &format!("cp {} $0.new; mv $0.new $0; exec sleep 0.04", other.display()));
    let builds = format!("{kept},{}", exchanged.display());
    let words = ["bisect", "--builds", &builds, "--out", "a", "--command", "{binary}", "--minimum-effect", "40%"];
    let (_, err) = world.exits(4, &[&words[..], &QUIET[..]].concat());
    assert!(err.contains("a build has changed since it was measured") && err.contains("SHA-1"), "{err}");
}

#[test]
fn invalid_bisections_are_refused_with_advice() {
    let world = World::new();
    let commits = repository(&world);
    let build = ["--build", "exit 3", "--command", "{binary}", "--out", "x"];
    let (_, err) = world.exits(4, &[&["bisect", &commits[0], &commits[2]], &build[..]].concat());
    assert!(err.contains("exit status: 3") && err.contains("or 125") && err.contains("build.log"), "{err}");
    std::fs::create_dir(world.path("results")).unwrap();
    std::fs::write(world.path("results/plan.json"), "{}").unwrap();
    for (words, printed) in [
        (
            vec!["bisect", &commits[2], &commits[0], "--build", "true"],
            "swap them, to find what made the newer one slower",
        ),
        (vec!["bisect", "none", "HEAD", "--build", "true"], "git log --oneline"),
        (vec!["bisect", "HEAD", "HEAD", "--build", "true"], "there is no commit between"),
        (vec!["bisect", "HEAD", "--build", "true"], "<BAD>"),
        (vec!["bisect", &commits[0], "HEAD"], "--build"),
        (vec!["bisect", "--builds", "v1,v2"], "expected: paths of builds separated by commas"),
        (vec!["bisect", "--builds", ""], "--builds <FILE|PATH,PATH,...>"),
        (vec!["bisect", "--builds", "v1"], "or a file with one path per line"),
        (vec!["bisect", "--resume", "nowhere", "--confidence", "99%"], "cannot be used with '--confidence <PCT>'"),
        (
            vec!["bisect", "--resume", "nowhere", "--minimum-effect", "1%"],
            "cannot be used with '--minimum-effect <PCT>'",
        ),
        (vec!["bisect", "--resume", "nowhere"], "begin one: tare bisect --help"),
        (vec!["bisect", "--resume", ".git"], "begin one: tare bisect --help"),
        (vec!["bisect", "--resume", "x/builds"], "/x\n"),
        (vec!["bisect", "--resume", "results"], "these are results of tare run, ab or find"),
        (vec!["find", "--resume", "nowhere"], "do now: "),
        (vec!["bisect", &commits[0], "HEAD", "--build", "true", "--command", "x"], "does not contain {binary}"),
        // Refused before the first build.
        (
            [&["bisect", &commits[0], "HEAD", "--set", "sampling.trials=5"], &build[..]].concat(),
            "`sampling.trials` would change nothing",
        ),
    ] {
        let (_, err) = world.exits(2, &words);
        assert!(err.contains(printed), "{words:?}: {err}");
    }
}

#[test]
fn the_first_signal_ends_a_hanging_git_and_an_endless_read_of_a_build() {
    let world = World::new();
    let commits = repository(&world);
    std::fs::create_dir(world.path("bin")).unwrap();
    std::fs::rename(program(&world, "git", "600"), world.path("bin/git")).unwrap();
    let git = ["bisect", &commits[0], "HEAD", "--build", "true", "--command", "{binary}"];
    let path = format!("{}:{}", world.path("bin").display(), std::env::var("PATH").unwrap());
    let mut hanging = world.tare(&git);
    let endless = world.path("endless");
    std::fs::File::create(&endless).unwrap().set_len(1 << 40).unwrap();
    let other = program(&world, "other", "0.01");
    let builds = format!("{},{other}", endless.display());
    let mut reading = world.tare(&[&["bisect", "--builds", &builds, "--command", "{binary}"], &QUIET[..]].concat());
    let is_reading = |pid: u32| {
        let open = std::fs::read_dir(format!("/proc/{pid}/fd")).into_iter().flatten().flatten();
        open.into_iter().any(|open| std::fs::read_link(open.path()).is_ok_and(|path| path == endless))
    };
    let is_asking = |_: u32| world.processes().into_iter().any(|pid| words_of(pid).join(" ").ends_with("sleep 600"));
    let cases: [(&mut Command, &dyn Fn(u32) -> bool); 2] =
        [(hanging.env("PATH", &path), &is_asking), (&mut reading, &is_reading)];
    for (command, is_at_it) in cases {
        let mut run = Ended(command.stderr(Stdio::null()).stdout(Stdio::null()).spawn().unwrap());
        wait_until("what it hangs in", 60, || is_at_it(run.0.id()));
        send(run.0.id(), Signal::TERM);
        let mut code = None;
        wait_until("its end", 60, || {
            code = run.0.try_wait().unwrap();
            code.is_some()
        });
        assert_eq!(code.unwrap().code(), Some(130));
    }
    world.assert_clean();
}

#[test]
fn overlong_lists_endless_builds_and_hostile_subjects_are_contained() {
    let world = World::new();
    std::fs::write(world.path("many.txt"), "/bin/sh\n".repeat(10_001)).unwrap();
    let (_, err) = world.exits(2, &["bisect", "--builds", "many.txt", "--command", "{binary}"]);
    assert!(err.contains("at most 10000"), "{err}");
    let (_, err) = world.exits(2, &["bisect", "--builds", "a\u{1b}]0;owned\u{7},b", "--command", "{binary}"]);
    assert!(err.contains("owned") && !err.contains('\u{1b}'), "{err}");
    let commits = repository(&world);
    let subject = format!("::stop-commands::owned \u{1b}]0;owned\u{7} {}", "x".repeat(1 << 20));
    std::fs::write(world.path("message"), subject).unwrap();
    git(world.directory.path(), &["commit", "--quiet", "--allow-empty", "-F", "message"]);
    let line = ["bisect", &commits[7], "HEAD", "--command", "{binary}"];
    let (planned, _) = world.exits(0, &[&line[..], &["--build", "true", "--dry-run", "--json"]].concat());
    assert!(!planned.contains('\u{1b}'), "{planned}");
    // The slow end has this subject, and its build never ends.
    let build = format!("test $TARE_COMMIT = {} && echo /bin/true || sleep 90", commits[7]);
    let began = Instant::now();
    let (out, err) = world.exits(5, &[&line[..], &["--build", &build, "--budget", "1s", "--out", "x"]].concat());
    assert!(
        began.elapsed().as_secs() < 60 && err.contains("was ended (log: ") && out.starts_with("Undecided"),
        "{err}"
    );
    assert!(err.contains("tare bisect --resume x --budget 1min"), "{err}");
    assert!(err.contains("stop-commands") && !err.contains('\u{1b}') && !err.contains(" ::stop"), "{err}");
    let requested = std::fs::metadata(world.path("x/bisect.json")).unwrap();
    assert!(requested.len() < 10_000, "the subject is kept whole");
    world.assert_clean();
}
