//! The programs that tare can use, and the debug symbols of the servers here, for profiles and waits: whether they are
//! installed, what they are for, and how to get them.

use super::interrupt;
use serde::Serialize;
use std::path::{Path, PathBuf};
use std::process::Command;
use tare_engine::{engine_by_name, engines, is_program, symbol_file};

#[derive(Debug, Clone, Copy)]
pub(crate) struct Tool {
    /// The name of the tool for `tare setup`.
    pub name: &'static str,
    pub purpose: &'static str,
    kind: Kind,
    packages: Packages,
}

/// Package names by family of distributions; `None` if the family has no package.
#[derive(Debug, Clone, Copy)]
struct Packages {
    debian: Option<&'static str>,
    ubuntu: Option<&'static str>,
    fedora: Option<&'static str>,
}

#[derive(Debug, Clone, Copy)]
enum Kind {
    Engine(&'static str),
    /// A program on PATH or in a directory of PostgreSQL.
    Program(&'static str),
}

const fn packages(debian: &'static str, ubuntu: &'static str, fedora: &'static str) -> Packages {
    Packages { debian: Some(debian), ubuntu: Some(ubuntu), fedora: Some(fedora) }
}

pub(crate) const TOOLS: &[Tool] = &[
    Tool {
        name: "sqlite",
        purpose: "studies on SQLite",
        kind: Kind::Engine("sqlite"),
        packages: Packages { debian: None, ubuntu: None, fedora: None },
    },
    Tool {
        name: "mariadb",
        purpose: "studies on a private MariaDB (--engine mariadb)",
        kind: Kind::Engine("mariadb"),
        packages: packages("mariadb-server", "mariadb-server", "mariadb-server"),
    },
    Tool {
        name: "mysql",
        purpose: "studies on a private MySQL (--engine mysql)",
        kind: Kind::Engine("mysql"),
        // Debian has a package only in unstable.
        packages: Packages { debian: None, ubuntu: Some("mysql-server"), fedora: Some("community-mysql-server") },
    },
    Tool {
        name: "postgresql",
        purpose: "studies on a private PostgreSQL (--engine postgresql)",
        kind: Kind::Engine("postgresql"),
        packages: packages("postgresql", "postgresql", "postgresql-server"),
    },
    Tool {
        name: "sysbench",
        purpose: "the same load by sysbench, to compare",
        kind: Kind::Program("sysbench"),
        packages: packages("sysbench", "sysbench", "sysbench"),
    },
    Tool {
        name: "pgbench",
        purpose: "the same load by pgbench, to compare",
        kind: Kind::Program("pgbench"),
        packages: packages("postgresql", "postgresql-contrib", "postgresql-contrib"),
    },
    Tool {
        name: "perf",
        purpose: "profiles and flame graphs (capture.profile)",
        kind: Kind::Program("perf"),
        packages: packages("linux-perf", "linux-tools-generic", "perf"),
    },
];

#[derive(Debug, Clone, Serialize)]
pub(crate) struct Found {
    /// The name of the tool for `tare setup`.
    pub name: &'static str,
    pub purpose: &'static str,
    pub path: Option<PathBuf>,
}

impl Tool {
    /// Looks for the tool where trials or the shell would find it.
    pub(crate) fn find(&self) -> Found {
        let path = match self.kind {
            Kind::Engine(name) => {
                engine_by_name(name).ok().and_then(|engine| engine.binary(None).ok()).map(|binary| binary.path)
            }
            Kind::Program(name) => on_path(name),
        };
        Found { name: self.name, purpose: self.purpose, path }
    }

    /// How to install a server if this distribution has no package of it.
    pub(crate) fn without_package(&self) -> Option<&'static str> {
        match self.kind {
            Kind::Engine(name) => engine_by_name(name).ok()?.install(),
            Kind::Program(_) => None,
        }
    }

    /// The install command, program and arguments; `None` if this distribution has no package.
    pub(crate) fn install(&self, release: &str) -> Option<Vec<&'static str>> {
        let names = self.packages;
        let apt = |package| ["apt-get", "install", "-y", "--no-install-recommends", package].to_vec();
        match family(release)? {
            Distribution::Debian => names.debian.map(apt),
            Distribution::Ubuntu => names.ubuntu.map(apt),
            Distribution::Fedora => names.fedora.map(|package| ["dnf", "install", "-y", package].to_vec()),
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Distribution {
    Debian,
    Ubuntu,
    Fedora,
}

/// The family of a distribution from `/etc/os-release`; derivatives name their origin in ID_LIKE.
fn family(release: &str) -> Option<Distribution> {
    let value = |key: &str| {
        let line = release.lines().find_map(|line| line.strip_prefix(key)?.strip_prefix('='));
        line.map_or(String::new(), |value| value.trim_matches('"').to_owned())
    };
    let words = format!("{} {}", value("ID"), value("ID_LIKE"));
    words.split_whitespace().find_map(|word| match word {
        "ubuntu" => Some(Distribution::Ubuntu),
        "debian" => Some(Distribution::Debian),
        "fedora" | "rhel" | "centos" => Some(Distribution::Fedora),
        _ => None,
    })
}

fn on_path(name: &str) -> Option<PathBuf> {
    let folders = std::env::var_os("PATH").map(|path| std::env::split_paths(&path).collect::<Vec<_>>());
    let versions = std::fs::read_dir("/usr/lib/postgresql").into_iter().flatten().flatten();
    let own = versions.map(|version| version.path().join("bin"));
    folders.unwrap_or_default().into_iter().chain(own).map(|folder| folder.join(name)).find(|path| is_program(path))
}

pub(crate) const DEBUG_SYMBOLS: &str = "symbols";

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Fetch {
    /// One command, which needs root if it installs a package.
    Run { words: Vec<String>, as_root: bool },
    /// apt does not know the archive of the debug packages: lines for the user to type in a root shell.
    Type(Vec<String>),
}

/// A server program, whether its symbols are installed, and how to get them if not.
#[derive(Debug, Clone)]
pub(crate) struct Symbols {
    pub found: Found,
    pub program: PathBuf,
    /// `None` if the symbols are installed, or if there is no known way to get them.
    pub fetch: Option<Fetch>,
}

/// The symbols of every server program that trials would find, except tare itself.
pub(crate) fn all_symbols(release: &str) -> Vec<Symbols> {
    let own = std::env::current_exe().ok();
    let programs = engines().iter().filter_map(|engine| {
        let path = engine.binary(None).ok()?.path;
        (Some(&path) != own.as_ref()).then_some((engine.name(), path))
    });
    programs.map(|(name, path)| symbols_of(name, &path, release)).collect()
}

fn symbols_of(name: &'static str, program: &Path, release: &str) -> Symbols {
    let path = symbol_file(program);
    let fetch = if path.is_some() { None } else { fetch(program, release) };
    Symbols {
        found: Found { name: DEBUG_SYMBOLS, purpose: purpose_of_symbols(name), path },
        program: program.to_owned(),
        fetch,
    }
}

fn purpose_of_symbols(engine: &str) -> &'static str {
    match engine {
        "mariadb" => "names of MariaDB's functions and locks in profiles and waits",
        "mysql" => "names of MySQL's functions and locks in profiles and waits",
        "postgresql" => "names of PostgreSQL's functions in profiles and waits",
        _ => "names of a server's functions in profiles and waits",
    }
}

fn fetch(program: &Path, release: &str) -> Option<Fetch> {
    if std::env::var("DEBUGINFOD_URLS").is_ok_and(|urls| !urls.trim().is_empty()) {
        let words = ["debuginfod-find".to_owned(), "debuginfo".to_owned(), program.display().to_string()];
        return Some(Fetch::Run { words: words.to_vec(), as_root: false });
    }
    let program = program.canonicalize().unwrap_or_else(|_| program.to_owned());
    match family(release)? {
        Distribution::Fedora => {
            let package = output_of("rpm", &["-qf", "--qf", "%{NAME}", program.to_str()?])?;
            let words = ["dnf", "debuginfo-install", "-y", &package].map(str::to_owned);
            Some(Fetch::Run { words: words.to_vec(), as_root: true })
        }
        family => {
            let package = owner(&output_of("dpkg", &["-S", program.to_str()?])?)?;
            let version = output_of("dpkg-query", &["-W", "-f", "${Version}", &package])?;
            let known = output_of("apt-cache", &["madison", &format!("{package}-dbgsym")]).unwrap_or_default();
            let of_packages = ["indextargets", "--format", "$(REPO_URI)", "Created-By: Packages"];
            let archives = output_of("apt-get", &of_packages).unwrap_or_default();
            Some(by_apt(family, release, &package, &version, &Apt { known: &known, archives: &archives }))
        }
    }
}

/// The package that owns a file, from a line such as `mariadb-server-core: /usr/sbin/mariadbd`.
fn owner(printed: &str) -> Option<String> {
    let (packages, _) = printed.lines().find(|line| !line.starts_with("diversion "))?.split_once(": ")?;
    // If several architectures or packages own the file, any of them will do.
    let first = packages.split([',', ':']).next()?.trim();
    (!first.is_empty()).then(|| first.to_owned())
}

struct Apt<'a> {
    /// Output of `apt-cache madison` for the package of symbols.
    known: &'a str,
    /// The archives that the package comes from, one per line.
    archives: &'a str,
}

impl Apt<'_> {
    /// Debian's mirrors hold the debug archive next to that of the packages.
    fn debug_archive(&self) -> String {
        let archives = self.archives.lines().map(|line| line.trim_end_matches('/'));
        let mirror = archives.into_iter().find(|archive| archive.ends_with("/debian"));
        format!("{}-debug", mirror.unwrap_or("http://MIRROR/debian"))
    }
}

/// Symbols fit one build only, so the version is named.
fn by_apt(family: Distribution, release: &str, package: &str, version: &str, apt: &Apt<'_>) -> Fetch {
    let versions = apt.known.lines().filter_map(|line| Some(line.split('|').nth(1)?.trim()));
    let wanted = format!("{package}-dbgsym={version}");
    let install = ["apt-get", "install", "-y", "--no-install-recommends", &wanted].map(str::to_owned).to_vec();
    if versions.into_iter().any(|known| known == version) {
        return Fetch::Run { words: install, as_root: true };
    }
    let codename = release.lines().find_map(|line| line.strip_prefix("VERSION_CODENAME="));
    let codename = codename.map_or("CODENAME", |name| name.trim_matches('"'));
    let mut lines = Vec::new();
    let sources: Vec<String> = if family == Distribution::Ubuntu {
        lines.push("apt-get install -y ubuntu-dbgsym-keyring".to_owned());
        let suites = [codename.to_owned(), format!("{codename}-updates")];
        suites.map(|suite| format!("deb http://ddebs.ubuntu.com {suite} main universe")).to_vec()
    } else {
        // Symbols of security updates are in the second suite (wiki.debian.org/AutomaticDebugPackages).
        let suites = [format!("{codename}-debug"), format!("{codename}-proposed-updates-debug")];
        let archive = apt.debug_archive();
        suites.map(|suite| format!("deb {archive} {suite} main")).to_vec()
    };
    let file = "/etc/apt/sources.list.d/debug-symbols.list";
    lines.extend(sources.iter().map(|source| format!("echo '{source}' >> {file}")));
    lines.push("apt-get update".to_owned());
    lines.push(install.join(" "));
    Fetch::Type(lines)
}

/// The standard output of a program; `None` if it is missing or fails.
fn output_of(program: &str, arguments: &[&str]) -> Option<String> {
    let mut command = Command::new(program);
    command.args(arguments).env("LC_ALL", "C");
    let output = interrupt::output(command).ok()?;
    let text = String::from_utf8(output.stdout).ok().filter(|_| output.status.success())?;
    Some(text.trim().to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_linux_distribution_has_its_own_package_names() {
        let of = |name: &str, release: &str| {
            let tool = TOOLS.iter().find(|tool| tool.name == name).unwrap();
            tool.install(release).map(|words| words.join(" "))
        };
        let (debian, ubuntu) = ("ID=debian\n", "NAME=\"Ubuntu\"\nID=ubuntu\nID_LIKE=debian\n");
        assert_eq!(of("perf", debian).unwrap(), "apt-get install -y --no-install-recommends linux-perf");
        assert!(of("perf", ubuntu).unwrap().ends_with("linux-tools-generic"));
        assert_eq!(of("mysql", debian), None);
        assert_eq!(
            of("sysbench", "ID=\"rocky\"\nID_LIKE=\"rhel centos fedora\"\n").unwrap(),
            "dnf install -y sysbench"
        );
        assert_eq!(of("perf", "ID=nixos\n"), None);
    }

    const DEBIAN: &str = "ID=debian\nVERSION_CODENAME=bookworm\n";
    const KNOWN: &str = "mariadb-server-core-dbgsym | 1:10.11.19-0+deb12u1 | http://x bookworm-debug/main amd64 Packages\n\
                         mariadb-server-core-dbgsym | 1:10.11.18-0+deb12u1 | http://x bookworm-debug/main amd64 Packages\n";

    const ARCHIVES: &str = "http://x/debian-security/\nhttp://x/debian/\n";
    const NONE: Apt<'_> = Apt { known: "", archives: "" };

    #[test]
    fn the_symbol_package_of_the_exact_version_is_installed() {
        let fetch = by_apt(
            Distribution::Debian,
            DEBIAN,
            "mariadb-server-core",
            "1:10.11.18-0+deb12u1",
            &Apt { known: KNOWN, archives: "" },
        );
        let Fetch::Run { words, as_root } = fetch else { panic!("{fetch:?}") };
        assert!(as_root);
        let line = words.join(" ");
        assert!(line.ends_with("install -y --no-install-recommends mariadb-server-core-dbgsym=1:10.11.18-0+deb12u1"));
    }

    #[test]
    fn for_an_unknown_archive_every_line_to_type_is_printed() {
        for (known, version) in [("", "1:10.11.19-0+deb12u1"), (KNOWN, "1:10.11.20-0+deb12u1")] {
            let fetch = by_apt(
                Distribution::Debian,
                DEBIAN,
                "mariadb-server-core",
                version,
                &Apt { known, archives: ARCHIVES },
            );
            let Fetch::Type(lines) = fetch else { panic!("{fetch:?}") };
            assert!(lines[0].contains("deb http://x/debian-debug bookworm-debug main"), "{lines:?}");
            assert!(lines[1].contains("bookworm-proposed-updates-debug main"), "{lines:?}");
            assert!(lines.last().unwrap().ends_with(&format!("mariadb-server-core-dbgsym={version}")), "{lines:?}");
        }
        let Fetch::Type(lines) =
            by_apt(Distribution::Ubuntu, "VERSION_CODENAME=noble\n", "postgresql-16", "16.1", &NONE)
        else {
            panic!()
        };
        assert!(lines.join("\n").contains("deb http://ddebs.ubuntu.com noble-updates main universe"), "{lines:?}");
    }

    #[test]
    fn the_package_that_owns_a_file_is_parsed() {
        assert_eq!(owner("mariadb-server-core: /usr/sbin/mariadbd").as_deref(), Some("mariadb-server-core"));
        assert_eq!(owner("libx:amd64, libx:i386: /usr/lib/x").as_deref(), Some("libx"));
        let diverted = "diversion by dash from: /bin/sh\ndash: /bin/sh";
        assert_eq!(owner(diverted).as_deref(), Some("dash"));
        assert_eq!(owner("nothing"), None);
        assert_eq!(owner(""), None);
    }
}
