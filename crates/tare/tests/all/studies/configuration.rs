//! The user's configuration file: what it changes, what takes precedence over it, and when it is not trusted.

use crate::support::{World, json, names, script, text};
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};

fn write(world: &World, content: &str) -> PathBuf {
    let folder = world.path("config/tare");
    std::fs::create_dir_all(&folder).unwrap();
    let file = folder.join("config.toml");
    std::fs::write(&file, content).unwrap();
    chmod(&file, 0o644);
    file
}

fn chmod(path: &Path, mode: u32) {
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode)).unwrap();
}

/// A program that reports the version of a MariaDB.
fn server(world: &World, name: &str) -> PathBuf {
    let path = world.path(name);
    script(&path, "echo 'mariadbd  Ver 99.1.2-MariaDB for Linux on x86_64 (made up)'");
    path
}

const SHORT: [&str; 9] = [
    "run",
    "first-look",
    "--quick",
    "--set",
    "factors.placement=float",
    "--set",
    "sampling.trials=1",
    "--set",
    "sampling.sample_s=0.05",
];

#[test]
fn options_override_the_environment_which_overrides_the_file_and_the_defaults() {
    let world = World::new();
    let (mine, studys) = (server(&world, "mine"), server(&world, "studys"));
    let file = write(
        &world,
        &format!(
            "cache = \"{}\"\ncolour = \"always\"\n[engines]\nmariadb = \"{}\"\n",
            world.path("big").display(),
            mine.display()
        ),
    );
    // The directory of the data.
    let run = |out: &str, variable: bool| {
        let mut tare = world.tare(&[&SHORT[..], &["--out", out]].concat());
        if !variable {
            tare.env_remove("TARE_CACHE_DIR");
        }
        let output = tare.output().unwrap();
        assert!(output.status.success(), "{}", text(&output.stderr));
        text(&output.stdout)
    };
    let shown = run("a", true);
    assert!(!world.path("big").exists() && !names(&world.path("cache")).is_empty());
    run("b", false);
    assert!(
        names(&world.path("big")).iter().any(|name| name.starts_with("sqlite-")),
        "{:?}",
        names(&world.path("big"))
    );
    // Colours in a pipe, unless the environment disables them.
    assert!(shown.contains('\u{1b}'), "{shown:?}");
    let plain = world.tare(&["show", "a"]).env("NO_COLOR", "1").output().unwrap();
    assert!(!text(&plain.stdout).contains('\u{1b}'));
    // The server program, unless a study names one.
    let programs = json(&world.exits(0, &["doctor", "--spin", "0.01", "--drift", "0", "--json"]).0);
    let found = programs["programs"].as_array().unwrap().iter().find(|p| p["name"] == "mariadb").unwrap().clone();
    assert_eq!(found["path"].as_str(), mine.canonicalize().unwrap().to_str());
    assert_eq!(programs["configuration"]["file"].as_str(), file.to_str());
    let planned = |more: &[&str]| {
        let args = ["run", "first-look", "--engine", "mariadb", "--dry-run", "--json"];
        json(&text(&world.output(&[&args[..], more].concat()).stdout))
    };
    let set = format!("engine.binary={}", studys.display());
    assert!(planned(&[])["conditions"][0]["realizable"].as_bool().unwrap());
    std::fs::remove_file(&mine).unwrap();
    let without = planned(&[]);
    assert!(without["conditions"][0]["reason"].as_str().unwrap().contains(mine.to_str().unwrap()), "{without}");
    assert!(planned(&["--set", &set])["conditions"][0]["realizable"].as_bool().unwrap());
    let (out, _) = world.exits(0, &["doctor", "--spin", "0.01", "--drift", "0"]);
    assert!(out.contains(&format!("configuration: {}: cache ", file.display())), "{out}");
}

#[test]
fn a_configuration_mistake_is_refused_with_its_place_but_restore_still_works() {
    let world = World::new();
    write(&world, "colour = \"never\"\n  cahce = \"/x\"\n");
    for command in [["studies"].as_slice(), &["run", "--dry-run"], &["topo"]] {
        let (_, err) = world.exits(2, command);
        assert!(err.contains("config.toml:2:3") && err.contains("did you mean `cache`?"), "{err}");
    }
    world.exits(0, &["restore"]);
    let (out, _) = world.exits(0, &["doctor", "--spin", "0.01", "--drift", "0"]);
    assert!(out.contains("configuration: not used") && out.contains("config.toml:2:3"), "{out}");
    write(&world, "");
    world.exits(0, &["studies"]);
}

#[test]
fn a_configuration_file_that_others_could_have_written_is_refused() {
    let world = World::new();
    let file = write(&world, "colour = \"never\"\n");
    let folder = file.parent().unwrap();
    for (path, mode) in [(file.as_path(), 0o666), (folder, 0o777), (folder, 0o770)] {
        let before = path.metadata().unwrap().permissions();
        chmod(path, mode);
        let (_, err) = world.exits(3, &["studies"]);
        assert!(err.contains("others may write to") && err.contains("config"), "{mode:o}: {err}");
        std::fs::set_permissions(path, before).unwrap();
    }
    world.exits(0, &["studies"]);
    std::fs::rename(&file, world.path("elsewhere.toml")).unwrap();
    symlink(world.path("elsewhere.toml"), &file).unwrap();
    let (_, err) = world.exits(3, &["studies"]);
    assert!(err.contains("symbolic link"), "{err}");
}
