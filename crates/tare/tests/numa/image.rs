//! The root file system of a virtual machine, made on the fly: busybox, this build of `tare`, MariaDB and one prepared
//! data directory, with every library that `ldd` names.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use tempfile::TempDir;

/// Where distributions keep MariaDB's messages and character sets: up to 10.11, and since.
const MARIADB_SHARES: [&str; 2] = ["/usr/share/mysql", "/usr/share/mariadb"];
/// The server.
const MARIADBD: &str = "/usr/sbin/mariadbd";

/// What every machine boots; a job is added to it.
pub struct Image {
    root: TempDir,
}

impl Image {
    pub fn new() -> Self {
        let image = Self { root: TempDir::new().expect("a temporary directory") };
        for directory in ["bin", "dev", "proc", "sys", "tmp", "usr/bin", "usr/sbin", "etc", "cache"] {
            std::fs::create_dir_all(image.at(directory)).unwrap();
        }
        // Static: it has no libraries.
        let busybox = find("busybox", "busybox-static");
        run(Command::new("cp").arg("-L").arg(busybox).arg(image.at("bin/busybox")));
        image.tare();
        image.program(Path::new(MARIADBD), "usr/sbin/mariadbd");
        let share = MARIADB_SHARES.map(Path::new).into_iter().find(|share| share.join("english").is_dir());
        let share = share.unwrap_or_else(|| panic!("MariaDB's messages are in none of {MARIADB_SHARES:?}"));
        for directory in ["english", "charsets"] {
            image.copy(&share.join(directory));
        }
        image.write("etc/passwd", "root:x:0:0:root:/root:/bin/sh\n");
        image.write("init", include_str!("guest/init"));
        run(Command::new("chmod").arg("755").arg(image.at("init")));
        image
    }

    pub fn at(&self, name: &str) -> PathBuf {
        self.root.path().join(name)
    }

    pub fn write(&self, name: &str, text: &str) {
        std::fs::write(self.at(name), text).unwrap();
    }

    /// Without its debugging information, most of its bytes.
    fn tare(&self) {
        let built = Path::new(env!("CARGO_BIN_EXE_tare"));
        run(Command::new("strip").arg("--strip-debug").arg("-o").arg(self.at("bin/tare")).arg(built));
        self.libraries(built);
    }

    fn program(&self, from: &Path, to: &str) {
        assert!(from.exists(), "{} is missing; install it with: scripts/setup numa", from.display());
        // With its time: the name of a prepared data directory is made of it.
        run(Command::new("cp").arg("-pL").arg(from).arg(self.at(to)));
        self.libraries(from);
    }

    fn libraries(&self, program: &Path) {
        let listed = output(Command::new("ldd").arg(program));
        for library in listed.split_whitespace().filter(|word| word.starts_with('/')) {
            self.copy(Path::new(library));
        }
    }

    /// A file or directory at the same place as here.
    fn copy(&self, path: &Path) {
        let to = self.at(path.to_str().unwrap().trim_start_matches('/'));
        if to.exists() {
            return;
        }
        assert!(path.exists(), "{} is missing; install it with: scripts/setup numa", path.display());
        std::fs::create_dir_all(to.parent().unwrap()).unwrap();
        run(Command::new("cp").arg("-rpL").arg(path).arg(to));
    }

    /// Runs a study on the host's own MariaDB, so that its data directory is in the cache that goes into the image.
    pub fn prepare(&self, study: &str) {
        let here = TempDir::new().unwrap();
        std::fs::write(here.path().join("study.toml"), study).unwrap();
        for directory in ["state", "run"] {
            std::fs::create_dir(here.path().join(directory)).unwrap();
        }
        let mut tare = Command::new(env!("CARGO_BIN_EXE_tare"));
        tare.args(["run", "study.toml", "--out", "results"]).current_dir(here.path());
        tare.env("TARE_CACHE_DIR", self.at("cache")).env("TARE_STATE_DIR", here.path().join("state"));
        tare.env("TARE_LOCK_DIR", here.path().join("run")).env("XDG_RUNTIME_DIR", here.path().join("run"));
        run(&mut tare);
    }

    /// Packs everything with `job` in it.
    pub fn pack(&self, job: &str, into: &Path) {
        self.write("job", job);
        let pack = format!("find . | cpio -o -H newc -R 0:0 --quiet | gzip -1 >'{}'", into.display());
        run(Command::new("sh").arg("-ec").arg(pack).current_dir(self.root.path()));
    }
}

/// A program in the usual places.
pub fn find(program: &str, package: &str) -> PathBuf {
    let places =
        ["/usr/bin", "/bin", "/usr/sbin", "/sbin", "/usr/local/bin"].map(|place| Path::new(place).join(program));
    let found = places.into_iter().find(|path| path.exists());
    found.unwrap_or_else(|| panic!("{program} is missing; install it with: sudo apt-get install {package}"))
}

fn run(command: &mut Command) {
    output(command);
}

fn output(command: &mut Command) -> String {
    let output = command.stdin(Stdio::null()).output().unwrap_or_else(|e| panic!("{command:?}: {e}"));
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(
        output.status.success(),
        "{command:?}: {}\n{text}\n{}",
        output.status,
        String::from_utf8_lossy(&output.stderr)
    );
    text
}
