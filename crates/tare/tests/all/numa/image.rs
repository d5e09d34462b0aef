//! The root file system of a virtual machine, made during the test: busybox, this build of `tare`, MariaDB, optionally
//! PostgreSQL and MySQL, prepared data, and every library that `ldd` lists; for another processor the first three,
//! without data.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use tempfile::TempDir;

use crate::numa::guest::Guest;
use crate::support::target;

/// Where distributions keep MariaDB's messages and character sets: up to 10.11, and since.
const MARIADB_SHARES: [&str; 2] = ["/usr/share/mysql", "/usr/share/mariadb"];
const MARIADBD: &str = "/usr/sbin/mariadbd";

/// The root file system of a machine, to which a job is added.
pub struct Image {
    root: TempDir,
    guest: Guest,
}

/// Library directories of the other architecture, below its root, in the order of its loader.
const ARM_LIBRARIES: [&str; 2] = ["lib/aarch64-linux-gnu", "usr/lib/aarch64-linux-gnu"];

impl Image {
    pub fn new() -> Self {
        let image = Self::bare(Guest::X86_64, &find("busybox", "busybox-static"));
        image.tare();
        image.program(Path::new(MARIADBD), "usr/sbin/mariadbd");
        let share = MARIADB_SHARES.map(Path::new).into_iter().find(|share| share.join("english").is_dir());
        let share = share.unwrap_or_else(|| panic!("MariaDB's messages are in none of {MARIADB_SHARES:?}"));
        for directory in ["english", "charsets"] {
            image.copy(&share.join(directory));
        }
        image
    }

    /// An image for a machine with another processor; its MariaDB prepares its own data.
    pub fn arm(guest: Guest) -> Self {
        let root = guest.root();
        assert!(root.is_dir(), "{} is missing; make it with: {}", root.display(), guest.setup());
        let image = Self::bare(guest, &root.join("bin/busybox"));
        let loader = "lib/ld-linux-aarch64.so.1";
        run(Command::new("cp").arg("-L").arg(root.join(loader)).arg(image.at(loader)));
        let of_mariadb =
            ["usr/sbin/mariadbd", "usr/bin/my_print_defaults", "usr/bin/resolveip"].map(|n| (root.join(n), n));
        for (from, to) in of_mariadb.into_iter().chain([(guest.tare(), "bin/tare")]) {
            assert!(from.exists(), "{} is missing; build it with: {}", from.display(), guest.setup());
            run(Command::new("aarch64-linux-gnu-strip").arg("-o").arg(image.at(to)).arg(&from));
            image.arm_libraries(&from);
        }
        // Loaded at run time by one strategy of the counters.
        image.arm_library("libnuma.so.1");
        run(Command::new("cp").arg(root.join("usr/bin/mariadb-install-db")).arg(image.at("usr/bin")));
        let share = MARIADB_SHARES.map(|share| &share[1..]).into_iter().find(|s| root.join(s).join("english").is_dir());
        let share = share.unwrap_or_else(|| panic!("MariaDB's messages are in none of {MARIADB_SHARES:?}"));
        std::fs::create_dir_all(image.at(share)).unwrap();
        let copy = format!("cp -rL english charsets ./*.sql '{}'", image.at(share).display());
        run(Command::new("sh").arg("-ec").arg(copy).current_dir(root.join(share)));
        image
    }

    /// The common part of every machine: busybox (static, so without libraries), the first process, a user.
    fn bare(guest: Guest, busybox: &Path) -> Self {
        let image = Self { root: TempDir::new().expect("a temporary directory"), guest };
        for directory in ["bin", "dev", "lib", "proc", "sys", "tmp", "usr/bin", "usr/sbin", "etc", "cache"] {
            std::fs::create_dir_all(image.at(directory)).unwrap();
        }
        run(Command::new("cp").arg("-L").arg(busybox).arg(image.at("bin/busybox")));
        image.write("etc/passwd", "root:x:0:0:root:/root:/bin/sh\n");
        image.write("init", &guest.init());
        run(Command::new("chmod").arg("755").arg(image.at("init")));
        image
    }

    pub fn guest(&self) -> Guest {
        self.guest
    }

    /// Copies the libraries that a program needs, and recursively theirs.
    fn arm_libraries(&self, program: &Path) {
        let listed = output(Command::new("aarch64-linux-gnu-readelf").arg("-d").arg(program));
        for line in listed.lines().filter(|line| line.contains("(NEEDED)")) {
            if let Some((_, name)) = line.split_once('[') {
                self.arm_library(name.trim_end().trim_end_matches(']'));
            }
        }
    }

    fn arm_library(&self, name: &str) {
        let to = self.at(ARM_LIBRARIES[0]).join(name);
        if to.exists() || name.starts_with("ld-linux") {
            return;
        }
        let places = ARM_LIBRARIES.map(|place| self.guest.root().join(place).join(name));
        let from = places.iter().find(|path| path.exists());
        let from =
            from.unwrap_or_else(|| panic!("{name} is in none of {places:?}; get it with: {}", self.guest.setup()));
        std::fs::create_dir_all(self.at(ARM_LIBRARIES[0])).unwrap();
        run(Command::new("cp").arg("-L").arg(from).arg(&to));
        self.arm_libraries(from);
    }

    pub fn at(&self, name: &str) -> PathBuf {
        self.root.path().join(name)
    }

    pub fn write(&self, name: &str, text: &str) {
        std::fs::write(self.at(name), text).unwrap();
    }

    /// Without symbols: every trial reads its server's whole program, which is `tare` for the embedded engine.
    fn tare(&self) {
        let built = Path::new(env!("CARGO_BIN_EXE_tare"));
        run(Command::new("strip").arg("--strip-all").arg("-o").arg(self.at("bin/tare")).arg(built));
        self.libraries(built);
    }

    fn program(&self, from: &Path, to: &str) {
        assert!(from.exists(), "{} is missing; install it with: scripts/setup numa", from.display());
        // With its modification time, which is part of the name of a prepared data directory.
        run(Command::new("cp").arg("-pL").arg(from).arg(self.at(to)));
        self.libraries(from);
    }

    fn libraries(&self, program: &Path) {
        let listed = output(Command::new("ldd").arg(program));
        for library in listed.split_whitespace().filter(|word| word.starts_with('/')) {
            self.copy(Path::new(library));
        }
    }

    /// The newest PostgreSQL of this machine, at its original path, because it knows where its files are.
    pub fn postgresql(&self) {
        let versions = std::fs::read_dir("/usr/lib/postgresql").into_iter().flatten().flatten();
        let version =
            versions.filter_map(|entry| entry.file_name().into_string().ok()).max_by_key(|v| v.parse::<u32>().ok());
        let version = version.expect("PostgreSQL is missing; install it with: scripts/setup numa");
        let (programs, share) = (format!("/usr/lib/postgresql/{version}"), format!("/usr/share/postgresql/{version}"));
        self.libraries(Path::new(&format!("{programs}/bin/postgres")));
        let parts = ["bin/postgres", "lib/plpgsql.so", "lib/pg_prewarm.so"].map(|part| format!("{programs}/{part}"));
        for path in parts.into_iter().chain([share]) {
            self.copy(Path::new(&path));
        }
        self.copy(Path::new("/usr/share/zoneinfo/Etc"));
    }

    /// MySQL as `scripts/get-mysql` unpacked it, at its original path, where its loader and libraries are too. Returns
    /// the path of the program.
    pub fn mysql(&self) -> String {
        let unpacked = target().join("mysql/root/usr");
        let program = unpacked.join("sbin/mysqld");
        assert!(program.exists(), "{} is missing; get it with: scripts/get-mysql", program.display());
        self.libraries(&program);
        for part in ["sbin/mysqld", "share/mysql/english", "share/mysql/charsets"] {
            self.copy(&unpacked.join(part));
        }
        program.to_str().unwrap().to_owned()
    }

    /// Copies a file or directory to the same path.
    fn copy(&self, path: &Path) {
        let to = self.at(path.to_str().unwrap().trim_start_matches('/'));
        if to.exists() {
            return;
        }
        assert!(path.exists(), "{} is missing; install it with: scripts/setup numa", path.display());
        std::fs::create_dir_all(to.parent().unwrap()).unwrap();
        run(Command::new("cp").arg("-rpL").arg(path).arg(to));
    }

    /// Runs a study on the host's own server, so that its data directory is in the cache of the image.
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
        // The machine needs the data, but not the initialised directories.
        let remove = format!("rm -r '{}'/*-initialised-*", self.at("cache").display());
        run(Command::new("sh").arg("-ec").arg(remove));
    }

    /// Packs everything with `job`, uncompressed: in emulation, unpacking takes longer than compression saves.
    pub fn pack(&self, job: &str, into: &Path) {
        self.write("job", job);
        let pack = format!("find . | cpio -o -H newc -R 0:0 --quiet >'{}'", into.display());
        run(Command::new("sh").arg("-ec").arg(pack).current_dir(self.root.path()));
    }
}

/// A study that prepares MariaDB's data with `rows` rows, and measures almost nothing.
pub fn preparing(rows: u32) -> String {
    format!(
        "name = \"prepare\"\n[engine]\nname = \"mariadb\"\n[engine.options]\ninnodb_log_file_size = \"8M\"\n\
         [workload]\nrows = {rows}\n[sampling]\nsteal_limit = \"off\"\nforeign_cpu_limit = \"off\"\nprobe = \"off\"\n\
         trials = 1\nwarmup_s = 0\nsample_s = 0.1\n"
    )
}

/// A condition on MariaDB with two pairs, each on a node of its own.
pub fn cell_of_mariadb(rows: u32, [warmup_s, sample_s]: [f64; 2], [client, server]: [&str; 2]) -> String {
    format!(
        "name = \"cell\"\n[engine]\nname = \"mariadb\"\n[engine.options]\ninnodb_log_file_size = \"8M\"\n\
         [workload]\nthreads = 2\nrows = {rows}\n[sampling]\nsteal_limit = \"off\"\nforeign_cpu_limit = \"off\"\n\
         trials = 1\nwarmup_s = {warmup_s}\nsample_s = {sample_s}\n[placement]\nclient = \"{client}\"\n\
         server = \"{server}\"\nbind = \"thread\"\npairing = \"same-node\"\nmemory = \"interleave:all\"\n"
    )
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
