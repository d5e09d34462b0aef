//! The options of every `tare load`: the number of clients, the duration, the placement, what is kept, the server and
//! the user of its connections. Most set a key of the study behind a load, and have its meaning, type, range and
//! default.

use crate::cli::problem::expectation;
use crate::cli::{Exit, Problem, output, secret};
use clap::{Arg, ArgAction, ArgMatches, Args, Command, Error, FromArgMatches};
use std::marker::PhantomData;
use std::path::PathBuf;
use tare_engine::{Engine, engine_by_name};
use tare_study::language::made::{KeyValue, check_value, declared};
use tare_study::language::settings::Sampling;
use tare_text::{Kind, Value};

#[derive(Debug, Clone, Copy)]
pub(crate) struct KeyOption {
    /// The name of the option, without `--`.
    pub long: &'static str,
    pub key: (&'static str, &'static str),
    /// Other names that help shows.
    pub also: &'static [&'static str],
    pub taken: &'static [&'static str],
    /// The placeholder of the value in the help; empty: derived from the type of the key.
    pub value: &'static str,
    /// Text that follows the key's own help, in place of its default.
    pub more: &'static str,
    pub not_with: Option<&'static str>,
    /// The part of the help that lists it; empty: determined by the section of the key.
    pub heading: &'static str,
    /// Whether the value is a time with a unit. The range of a time is checked when the study is made.
    pub is_time: bool,
}

impl KeyOption {
    /// An option whose help, type, range and default come from the key alone.
    pub(crate) const fn new(long: &'static str, section: &'static str, key: &'static str) -> Self {
        let key = (section, key);
        Self { long, key, also: &[], taken: &[], value: "", more: "", not_with: None, heading: "", is_time: false }
    }

    pub(crate) fn is_named(&self, name: &str) -> bool {
        self.long == name || self.also.contains(&name) || self.taken.contains(&name)
    }

    fn arg(self) -> Arg {
        let (section, key) = self.key;
        let declared = declared(section, key);
        let kind = declared.as_ref().map_or(Kind::Words, |declared| declared.info.kind);
        let default = declared.as_ref().and_then(|declared| declared.default.as_ref());
        let more = match (self.more, default) {
            ("", Some(default)) => format!(" [default: {default}]"),
            (more, _) => more.to_owned(),
        };
        let help = declared.as_ref().map_or("", |declared| declared.info.help);
        let heading = match (self.heading, section) {
            ("", "engine") => Some(SERVER),
            ("", "placement" | "client") => Some("Placement"),
            (heading, _) => Some(heading).filter(|heading| !heading.is_empty()),
        };
        let arg = Arg::new(self.long)
            .long(self.long)
            .help_heading(heading)
            .visible_aliases(self.also.iter().copied())
            .aliases(self.taken.iter().copied())
            // sysbench accepts its options with - or _ between words.
            .aliases(self.long.contains('-').then_some(key))
            .help(capital(help) + &more)
            .value_name(if self.value.is_empty() { value_name(kind) } else { self.value })
            .value_parser(move |text: &str| self.parse(kind, text));
        let arg = match kind {
            Kind::Switch => arg.num_args(0..=1).require_equals(true).default_missing_value("on"),
            _ => arg.action(ArgAction::Set),
        };
        match self.not_with {
            Some(other) => arg.conflicts_with(other),
            None => arg,
        }
    }

    fn parse(self, kind: Kind, text: &str) -> Result<Value, String> {
        if self.is_time {
            let seconds = output::seconds(text).filter(|seconds| *seconds >= 0.0);
            return seconds.map(Value::Number).ok_or_else(|| "expected a time such as 60s, 2m or 500ms".into());
        }
        let value = match kind {
            Kind::Switch => Value::Switch(switch(text)?),
            _ => Value::of_word(text),
        };
        let (section, key) = self.key;
        check_value(section, key, &value).map_err(|expected| format!("expected {}", expectation(expected)))?;
        Ok(value)
    }
}

/// Heading of the options that say which server it is, and how to log in.
const SERVER: &str = "Server";

pub(crate) trait KeyOptions {
    /// In the order of the help.
    const OPTIONS: &'static [KeyOption];
}

/// The keys that were set by the options of a group.
#[derive(Debug)]
pub(crate) struct Chosen<T> {
    values: Vec<KeyValue>,
    group: PhantomData<T>,
}

impl<T> Chosen<T> {
    pub(crate) fn values(&self) -> &[KeyValue] {
        &self.values
    }

    /// The value of a key; `None` if it was not set.
    pub(crate) fn get(&self, key: &str) -> Option<&Value> {
        self.values.iter().find(|(_, name, _)| *name == key).map(|(.., value)| value)
    }
}

impl<T: KeyOptions> FromArgMatches for Chosen<T> {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, Error> {
        let values = T::OPTIONS.iter().filter_map(|option| {
            let value = matches.try_get_one::<Value>(option.long).ok().flatten()?;
            Some((option.key.0, option.key.1, value.clone()))
        });
        Ok(Self { values: values.collect(), group: PhantomData })
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), Error> {
        *self = Self::from_arg_matches(matches)?;
        Ok(())
    }
}

impl<T: KeyOptions> Args for Chosen<T> {
    fn augment_args(command: Command) -> Command {
        T::OPTIONS.iter().fold(command, |command, option| command.arg(option.arg()))
    }

    fn augment_args_for_update(command: Command) -> Command {
        Self::augment_args(command)
    }
}

fn value_name(kind: Kind) -> &'static str {
    match kind {
        Kind::Switch => "on|off",
        Kind::Whole(..) | Kind::Positive(_) => "N",
        Kind::Seconds => "TIME",
        Kind::Path => "FILE",
        Kind::Words => "NAME",
    }
}

/// Capitalises the first letter; a first word that ends with a colon is a value of the option and stays as it is.
fn capital(words: &str) -> String {
    if words.split(' ').next().is_some_and(|first| first.ends_with(':')) {
        return words.to_owned();
    }
    let mut letters = words.chars();
    letters.next().map(|first| first.to_uppercase().chain(letters).collect()).unwrap_or_default()
}

pub(crate) fn switch(text: &str) -> Result<bool, String> {
    match text {
        "on" | "true" | "1" => Ok(true),
        "off" | "false" | "0" => Ok(false),
        _ => Err("expected on or off".into()),
    }
}

#[derive(Debug, Args)]
pub(crate) struct RunArgs {
    #[command(flatten)]
    pub keys: Chosen<RunKeys>,
    /// End after this number of transactions over all threads, or after --time, whichever comes first; 0: no such
    /// limit. With it, --time=0 means no time limit, and there is no warm-up without --warmup
    #[arg(long, value_name = "N", default_value_t = 0, conflicts_with = "out")]
    pub events: u64,
    /// Write the results to this new directory, as a run does: show, compare, report and export read it. The progress
    /// lines are those of `tare run`
    #[arg(long, value_name = "DIR", conflicts_with = "histogram")]
    pub out: Option<PathBuf>,
    /// With --out: number of measurements, each a trial with new connections and its own warm-up
    #[arg(long, value_name = "N", requires = "out", default_value_t = 1, value_parser = repeats)]
    pub repeat: usize,
    /// With --out: change one key of the study that the run is recorded as, for example sampling.steal_limit=off (may
    /// be repeated)
    #[arg(long, value_name = "PATH.KEY=VALUE", requires = "out")]
    pub set: Vec<String>,
}

#[derive(Debug)]
pub(crate) struct RunKeys;

impl KeyOptions for RunKeys {
    const OPTIONS: &'static [KeyOption] = &[
        KeyOption::new("threads", "workload", "threads"),
        KeyOption {
            is_time: true,
            more: ", for example 60s or 2m [default: 60s; sysbench: 10s]",
            ..KeyOption::new("time", "sampling", "sample_s")
        },
        KeyOption {
            is_time: true,
            more: " [default: 10s, and no longer than --time; sysbench: none]",
            ..KeyOption::new("warmup", "sampling", "warmup_s")
        },
        KeyOption { value: "RATE", ..KeyOption::new("rate", "workload", "rate") },
        KeyOption {
            value: "LIMIT",
            not_with: Some("rate"),
            more: " [default: none; --time, here of a step: 5s]",
            ..KeyOption::new("slo", "workload", "objective")
        },
        KeyOption {
            also: &["rand-seed"],
            taken: &["rand_seed"],
            more: " [default: 1; sysbench: the time of day]",
            ..KeyOption::new("seed", "sampling", "seed")
        },
        KeyOption { value: "LOCATION", ..KeyOption::new("client", "placement", "client") },
        KeyOption {
            value: "LOCATION",
            more: "; needs a server on this machine [default: float]",
            ..KeyOption::new("server", "placement", "server")
        },
        KeyOption {
            value: "LOCATION",
            more: "; their affinities are restored afterwards [default: float]",
            ..KeyOption::new("background", "placement", "background")
        },
        KeyOption { value: "set|thread", ..KeyOption::new("bind", "placement", "bind") },
        KeyOption {
            value: "PAIRING",
            more: "; needs --bind thread [default: none]",
            ..KeyOption::new("pairing", "placement", "pairing")
        },
        KeyOption::new("spin", "client", "spin"),
    ];
}

impl RunArgs {
    pub(crate) fn warmup_s(&self) -> f64 {
        let usual = if self.events > 0 { 0.0 } else { Sampling::default().warmup_s.min(self.time_s()) };
        self.seconds("warmup_s").unwrap_or(usual)
    }

    pub(crate) fn sample_s(&self) -> f64 {
        if self.events > 0 && self.time_s() == 0.0 { FOREVER_S } else { self.time_s() }
    }

    /// Whether to search the highest rate that meets a limit.
    pub(crate) fn searches(&self) -> bool {
        self.keys.get("objective").is_some_and(|objective| objective.to_string() != "none")
    }

    fn time_s(&self) -> f64 {
        let usual = if self.searches() { STEP_S } else { Sampling::default().sample_s };
        self.seconds("sample_s").unwrap_or(usual)
    }

    fn seconds(&self, key: &str) -> Option<f64> {
        self.keys.get(key).and_then(Value::number)
    }
}

/// Length of a step of an interactive search, seconds.
const STEP_S: f64 = 5.0;

/// A time without a practical limit, seconds: most of a century.
const FOREVER_S: f64 = 3e9;

fn repeats(text: &str) -> Result<usize, String> {
    text.parse().ok().filter(|n| (1..=10_000).contains(n)).ok_or_else(|| "expected a number from 1 to 10000".into())
}

#[derive(Debug, Args)]
pub(crate) struct ServerArgs {
    #[command(flatten)]
    pub keys: Chosen<ServerKeys>,
    /// sysbench's name of the engine: mysql (mariadb and mysql) or pgsql (postgresql)
    #[arg(long, value_name = "mysql|pgsql", value_parser = ["mysql", "pgsql"], alias = "db_driver",
        help_heading = SERVER)]
    pub db_driver: Option<String>,
    /// Ask for the password; without this it comes from TARE_PASSWORD, ~/.my.cnf or ~/.pgpass
    #[arg(long, help_heading = SERVER)]
    pub ask_password: bool,
    /// Refused: every user of the machine could read it
    #[arg(long, hide = true, value_name = "PASSWORD", aliases = ["mysql-password", "mysql_password", "pgsql-password", "pgsql_password"])]
    pub password: Option<String>,
    /// Refused: login paths are not read
    #[arg(long, hide = true, value_name = "NAME")]
    pub login_path: Option<String>,
}

#[derive(Debug)]
pub(crate) struct ServerKeys;

impl KeyOptions for ServerKeys {
    const OPTIONS: &'static [KeyOption] = &[
        KeyOption {
            value: "ENGINE",
            more: " [default: mariadb; with --db-driver=pgsql: postgresql]",
            ..KeyOption::new("engine", "engine", "name")
        },
        KeyOption {
            value: "PATH",
            not_with: Some("host"),
            taken: &["mysql-socket", "mysql_socket"],
            more: "; absent: that of ~/.my.cnf, or of PGSERVICE",
            ..KeyOption::new("socket", "engine", "socket")
        },
        KeyOption {
            value: "HOST",
            taken: &["mysql-host", "mysql_host", "pgsql-host", "pgsql_host"],
            ..KeyOption::new("host", "engine", "host")
        },
        KeyOption {
            value: "PORT",
            taken: &["mysql-port", "mysql_port", "pgsql-port", "pgsql_port"],
            ..KeyOption::new("port", "engine", "port")
        },
        KeyOption {
            value: "USER",
            taken: &["mysql-user", "mysql_user", "pgsql-user", "pgsql_user"],
            ..KeyOption::new("user", "engine", "user")
        },
        KeyOption::new("option-file", "engine", "option_file"),
        KeyOption::new("service", "engine", "service"),
        KeyOption { value: "MODE", also: &["ssl-mode", "sslmode"], ..KeyOption::new("tls", "engine", "tls") },
        KeyOption { also: &["ssl-ca", "sslrootcert"], ..KeyOption::new("tls-ca", "engine", "tls_ca") },
        KeyOption { also: &["ssl-cert", "sslcert"], ..KeyOption::new("tls-cert", "engine", "tls_cert") },
        KeyOption { also: &["ssl-key", "sslkey"], ..KeyOption::new("tls-key", "engine", "tls_key") },
        KeyOption {
            also: &["server-public-key-path"],
            ..KeyOption::new("server-public-key", "engine", "server_public_key")
        },
        KeyOption::new("get-server-public-key", "engine", "get_server_public_key"),
        KeyOption {
            value: "DATABASE",
            taken: &["mysql-db", "mysql_db", "pgsql-db", "pgsql_db"],
            ..KeyOption::new("database", "engine", "database")
        },
        KeyOption::new("charset", "engine", "charset"),
    ];
}

impl ServerArgs {
    pub(crate) fn engine(&self) -> Result<&'static dyn Engine, Problem> {
        let usual = if self.db_driver.as_deref() == Some("pgsql") { "postgresql" } else { "mariadb" };
        let named = self.keys.get("name").map_or(usual.to_owned(), ToString::to_string);
        let engine = engine_by_name(&named).map_err(|e| Problem::new(Exit::Usage, e.to_string()))?;
        let (name, engines) = match self.db_driver.as_deref() {
            Some("mysql") => ("mysql", &["mariadb", "mysql"][..]),
            Some("pgsql") => ("pgsql", &["postgresql"][..]),
            _ => return Ok(engine),
        };
        if engines.contains(&engine.name()) {
            return Ok(engine);
        }
        let what = format!("--db-driver={name} contradicts --engine {}", engine.name());
        Err(Problem::new(Exit::Usage, what)
            .expected(format!("--engine {}", engines.join(" or ")))
            .advice("leave out --db-driver, or set --engine to the running server"))
    }

    /// The password, if it is known before the user's own files are read.
    ///
    /// # Errors
    /// When an option was given that is refused: a password that every user could read, or a login path.
    pub(crate) fn password(&self) -> Result<Option<String>, Problem> {
        if self.password.is_some() {
            let file = self.engine()?.password_file().map_or_else(String::new, |file| format!(" or {file}"));
            return Err(Problem::new(
                Exit::Usage,
                "a password on the command line can be read by every user of this machine",
            )
            .advice(format!("put it into TARE_PASSWORD{file}, or use --ask-password; and change it")));
        }
        if self.login_path.is_some() {
            return Err(Problem::new(Exit::Usage, "login paths (~/.mylogin.cnf of mysql_config_editor) are not read")
                .advice(
                    "write user and password under [client] into a file that only you can read: --option-file FILE",
                ));
        }
        secret::password(self.ask_password)
    }
}
