//! Commands that list what is installed and what takes disk space, and that remove it.

use crate::support::{World, json, names, script};

#[test]
fn clean_removes_prepared_data_and_keeps_unnamed_results_and_foreign_files() {
    let world = World::new();
    let short = ["--set", "factors.placement=float", "--set", "sampling.trials=1", "--set", "sampling.sample_s=0.1"];
    for name in ["tare-results/kept", "tare-results/named", "elsewhere"] {
        world.exits(0, &[&["run", "first-look", "--quick", "--out", name], short.as_slice()].concat());
    }
    let (cache, _) = world.exits(0, &["clean", "--dry-run", "--json"]);
    let results = json(&cache)["results"].as_array().unwrap().clone();
    let made = |entry: &&serde_json::Value| entry["path"] == world.path("elsewhere").to_str().unwrap();
    assert_eq!((results.len(), results.iter().filter(made).count()), (3, 1), "{cache}");
    let used = json(&cache)["cache"].as_array().unwrap().clone();
    let place = std::path::PathBuf::from(used[0]["path"].as_str().unwrap());
    assert!(used.iter().any(|entry| entry["bytes"].as_u64().unwrap() > 100_000), "{cache}");
    assert!(place.exists(), "a dry run removes nothing");
    let folder = place.parent().unwrap();
    std::fs::write(folder.join("thesis-final.txt"), "not ours").unwrap();
    for left in ["mysql-initialised-0123456789abcdef0123", "work-0123456789abcdef0123"] {
        std::fs::create_dir(folder.join(left)).unwrap();
    }
    let (dry, _) = world.exits(0, &["clean", "tare-results/named", "--dry-run"]);
    assert!(dry.contains("to be removed  tare-results/named") && dry.contains("kept  tare-results/kept"), "{dry}");
    let (reported, _) = world.exits(0, &["clean", "tare-results/named"]);
    assert!(
        reported.contains("removed  tare-results/named") && reported.contains("kept  tare-results/kept"),
        "{reported}"
    );
    assert_eq!(names(&world.path("tare-results")), ["kept"]);
    assert_eq!(names(folder), ["thesis-final.txt"], "what is not ours stays");
    let (_, err) = world.exits(2, &["clean", "."]);
    assert!(err.contains("error:"), "{err}");
    world.exits(0, &["show", "tare-results/kept"]);
}

#[test]
fn setup_reports_installed_programs_and_how_to_install_the_rest_without_changes() {
    let world = World::new();
    // apt takes seconds to look for the symbols of servers; the test below plays it.
    let fake = world.path("bin");
    std::fs::create_dir(&fake).unwrap();
    ["apt-cache", "apt-get"].iter().for_each(|name| script(&fake.join(name), "exit 1"));
    let path = format!("{}:{}", fake.display(), std::env::var("PATH").unwrap());
    let listed = world.tare(&["setup", "--json"]).env("PATH", path).output().unwrap();
    assert!(listed.status.success(), "{listed:?}");
    let reported = json(&crate::support::text(&listed.stdout))["programs"].clone();
    let of = |name: &str| reported.as_array().unwrap().iter().find(|tool| tool["name"] == name).unwrap().clone();
    assert!(of("sqlite")["path"].is_string() && of("sqlite")["install"].is_null());
    for name in ["mariadb", "mysql", "postgresql", "sysbench", "pgbench", "perf"] {
        assert!(!of(name)["purpose"].as_str().unwrap().is_empty());
        assert!(of(name)["path"].is_null() || of(name)["install"].is_null(), "{}", of(name));
    }
    // With this PATH everything is missing: a command is suggested, and nothing is run without a request.
    let out = world.tare(&["setup", "sysbench"]).env("PATH", "/nowhere").output().unwrap();
    let text = String::from_utf8_lossy(&out.stdout).into_owned();
    assert!(out.status.success() && text.contains("sysbench  missing"), "{text}");
    let (out, _) = world.exits(0, &["setup", "postgres", "--json"]);
    assert_eq!(json(&out)["programs"][0]["name"], "postgresql", "{out}");
    let (_, err) = world.exits(2, &["setup", "mariadbb"]);
    assert!(err.contains("mariadb"), "{err}");
}

#[test]
fn setup_reports_how_to_get_server_symbols_and_installs_a_package_known_to_apt() {
    let world = World::new();
    let fake = world.path("bin");
    std::fs::create_dir(&fake).unwrap();
    let put = |name: &str, lines: &str| script(&fake.join(name), lines);
    let ran = world.path("ran");
    put("dpkg", "echo \"a-server-core: $2\"");
    put("dpkg-query", "printf 1:9.9-1");
    put("sudo", "exec \"$@\"");
    let archives = "[ \"$1\" != indextargets ] || { echo http://x/debian/; exit; }";
    put("apt-get", &format!("{archives}\necho \"$@\" >> {}", ran.display()));
    let setup = |arguments: &[&str]| {
        let mut command = world.tare(&[&["setup", "symbols"], arguments].concat());
        command.env("PATH", format!("{}:/usr/bin:/bin", fake.display())).env_remove("DEBUGINFOD_URLS");
        let output = command.output().unwrap();
        (output.status.code(), crate::support::text(&output.stdout), crate::support::text(&output.stderr))
    };
    // An archive that apt does not know is not added: the lines to type are printed.
    put("apt-cache", "true");
    let (code, out, err) = setup(&["--json"]);
    assert_eq!(code, Some(0), "{err}");
    let rows = json(&out)["programs"].clone();
    let missing: Vec<_> = rows.as_array().unwrap().iter().filter(|row| row["path"].is_null()).cloned().collect();
    assert!(!missing.is_empty(), "every server here has its symbols: {rows}");
    assert!(missing.iter().all(|row| row["install"].as_str().unwrap().contains("a-server-core-dbgsym=1:9.9-1")));
    assert!(missing.iter().all(|row| row["install"].as_str().unwrap().contains("/etc/apt/sources.list.d/")));
    assert!(missing.iter().all(|row| row["install"].as_str().unwrap().contains("deb http://x/debian-debug ")));
    let (code, _, err) = setup(&["--install"]);
    assert_eq!(code, Some(3), "{err}");
    assert!(err.contains("as root, type:") && !ran.exists(), "{err}");
    // If apt knows the archive, the package of exactly this version is installed.
    put("apt-cache", "echo ' a-server-core-dbgsym | 1:9.9-1 | http://x y-debug/main amd64 Packages'");
    let (code, _, err) = setup(&["--install"]);
    assert_eq!(code, Some(3), "nothing was really installed: {err}");
    let reported = std::fs::read_to_string(&ran).unwrap();
    assert!(reported.starts_with("install -y --no-install-recommends a-server-core-dbgsym=1:9.9-1"), "{reported}");
    world.assert_clean();
}

#[test]
fn downloads_of_debug_symbols_are_limited_in_size_and_time() {
    let world = World::new();
    let fake = world.path("bin");
    std::fs::create_dir(&fake).unwrap();
    let printed = world.path("said");
    let asks = "sleep 0.3; { grep size /proc/self/limits; env | grep DEBUGINFOD_MAX; }";
    script(&fake.join("debuginfod-find"), &format!("{asks} >> {}", printed.display()));
    let mut command = world.tare(&["setup", "symbols", "--install"]);
    command.env("PATH", format!("{}:/usr/bin:/bin", fake.display())).env("DEBUGINFOD_URLS", "http://127.0.0.1:1");
    let output = command.env("DEBUGINFOD_MAXTIME", "7").output().unwrap();
    let (err, printed) = (crate::support::text(&output.stderr), std::fs::read_to_string(printed).unwrap());
    assert!(output.status.code() == Some(3) && err.contains("does not contain names of MariaDB's functions"), "{err}");
    let size = printed.lines().find(|line| line.starts_with("Max file size")).unwrap();
    assert_eq!(size.split_whitespace().filter(|word| *word == "4294967296").count(), 2, "{printed}");
    assert!(printed.contains("DEBUGINFOD_MAXSIZE=4294967296") && printed.contains("DEBUGINFOD_MAXTIME=7"), "{printed}");
    world.assert_clean();
}

#[test]
fn the_doctor_begins_with_missing_programs_and_their_purpose() {
    let world = World::new();
    let out = world.tare(&["doctor", "--spin", "0.01"]).env("PATH", "/nowhere").output().unwrap();
    let text = String::from_utf8_lossy(&out.stdout).into_owned();
    assert!(text.starts_with("here: sqlite"), "{text}");
    assert!(text.contains("missing: sysbench, for ") && text.contains("see: tare setup sysbench"), "{text}");
    let programs = json(&world.exits(0, &["doctor", "--spin", "0.01", "--json"]).0)["programs"].clone();
    assert_eq!(programs[0]["name"], "sqlite");
}
