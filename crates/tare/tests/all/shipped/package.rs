//! An installation, the Debian package and the crates of the libraries have what they need.

use std::path::Path;
use std::process::{Command, Output};

fn run(program: &str, args: &[&str]) -> Output {
    let output = Command::new(program).args(args).output().unwrap_or_else(|error| panic!("{program}: {error}"));
    let err = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{program} {args:?}\n{err}");
    output
}

#[test]
fn an_installation_under_a_prefix_works_and_can_be_repeated() {
    let scratch = tempfile::TempDir::new().unwrap();
    let top = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let prefix = scratch.path().join("my prefix");
    let bin = prefix.join("bin");
    let path = |first: &Path| format!("{}:{}", first.display(), std::env::var("PATH").unwrap());
    let install = |path: &str| {
        let mut command = Command::new(top.join("scripts/install"));
        command.arg(env!("CARGO_BIN_EXE_tare")).arg(&prefix).env("PATH", path).env_remove("DESTDIR");
        let made = command.output().unwrap();
        let (out, err) = (String::from_utf8(made.stdout).unwrap(), String::from_utf8(made.stderr).unwrap());
        assert!(made.status.success(), "{err}");
        assert_eq!(out.trim(), bin.join("tare").to_str().unwrap());
        err
    };
    assert!(install("/usr/bin:/bin").contains("is not on the PATH"));
    let other = scratch.path().join("other");
    std::fs::create_dir(&other).unwrap();
    std::os::unix::fs::symlink("/bin/true", other.join("tare")).unwrap();
    assert!(install(&path(&other)).contains("another tare comes first on the PATH"));
    assert_eq!(install(&path(&bin)), "");
    // As a shell finds it.
    let shell = |line: &str| {
        let output = Command::new("sh").args(["-c", line]).env("PATH", path(&bin)).output().unwrap();
        assert!(output.status.success(), "{line}: {}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).unwrap()
    };
    assert_eq!(shell("tare --version").trim(), concat!("tare ", env!("CARGO_PKG_VERSION")));
    assert!(shell("tare run first-look --dry-run --topology 'core:2 pu:2' --json").contains("\"conditions\""));
    for file in [
        "man/man1/tare.1.gz",
        "man/man1/tare-load.1.gz",
        "bash-completion/completions/tare",
        "zsh/site-functions/_tare",
        "fish/vendor_completions.d/tare.fish",
    ] {
        assert!(prefix.join("share").join(file).metadata().is_ok_and(|meta| meta.len() > 0), "{file}");
    }
}

#[test]
fn the_program_of_the_debian_package_runs_and_has_its_documentation() {
    let scratch = tempfile::TempDir::new().unwrap();
    let top = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let out = scratch.path().to_str().unwrap();
    let made = Command::new(top.join("scripts/deb"))
        .args([env!("CARGO_BIN_EXE_tare"), out])
        .env("DPKG_DEB_COMPRESSOR_TYPE", "none")
        .output()
        .unwrap();
    assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
    let package = String::from_utf8(made.stdout).unwrap().trim().to_string();
    let control = String::from_utf8(run("dpkg-deb", &["--field", &package]).stdout).unwrap();
    for line in [concat!("Version: ", env!("CARGO_PKG_VERSION")), "libhwloc", "libc6"] {
        assert!(control.contains(line), "{line} is missing:\n{control}");
    }

    let root = scratch.path().join("root");
    run("dpkg-deb", &["--extract", &package, root.to_str().unwrap()]);
    let tare = root.join("usr/bin/tare");
    let version = String::from_utf8(run(tare.to_str().unwrap(), &["--version"]).stdout).unwrap();
    assert_eq!(version.trim(), concat!("tare ", env!("CARGO_PKG_VERSION")));
    let plan = run(tare.to_str().unwrap(), &["run", "first-look", "--dry-run", "--topology", "core:2 pu:2", "--json"]);
    assert!(String::from_utf8(plan.stdout).unwrap().contains("\"conditions\""), "the built-in studies are in it");
    for file in [
        "man/man1/tare.1.gz",
        "man/man1/tare-run.1.gz",
        "bash-completion/completions/tare",
        "zsh/vendor-completions/_tare",
        "fish/vendor_completions.d/tare.fish",
        "doc/tare/copyright",
        "doc/tare/tutorial.md",
    ] {
        let path = root.join("usr/share").join(file);
        assert!(path.metadata().is_ok_and(|meta| meta.len() > 0), "{file} is missing or empty");
    }
}

#[test]
fn every_library_becomes_a_crate() {
    let scratch = tempfile::TempDir::new().unwrap();
    let top = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let target = format!("CARGO_TARGET_DIR={}", scratch.path().display());
    run("make", &["--directory", top.to_str().unwrap(), "package", "PACKAGE=--allow-dirty --offline", &target]);
    let crates = std::fs::read_dir(scratch.path().join("package")).unwrap();
    let crates: Vec<_> = crates.map(|entry| entry.unwrap().path()).filter(|path| path.is_file()).collect();
    assert_eq!(crates.len(), 9, "{crates:?}");
    for one in crates {
        let files = String::from_utf8(run("tar", &["tzf", one.to_str().unwrap()]).stdout).unwrap();
        assert!(files.contains("/Cargo.toml\n") && files.contains("/src/lib.rs\n"), "{one:?}: {files}");
    }
}
