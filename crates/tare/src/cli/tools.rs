//! The programs that tare can use: whether they are installed, what they are for, and the packages that contain them.

use serde::Serialize;
use std::path::{Path, PathBuf};
use tare_engine::engine_by_name;

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
pub(super) enum Distribution {
    Debian,
    Ubuntu,
    Fedora,
}

/// The family of a distribution from `/etc/os-release`; derivatives name their origin in ID_LIKE.
pub(super) fn family(release: &str) -> Option<Distribution> {
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

fn is_program(path: &Path) -> bool {
    use std::os::unix::fs::PermissionsExt;
    std::fs::metadata(path).is_ok_and(|file| file.is_file() && file.permissions().mode() & 0o111 != 0)
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
}
