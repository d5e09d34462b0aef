//! What the host where a study was started, and where its clients are, and the host where it is run say to each other:
//! a JSON line each.

use serde::{Deserialize, Serialize};

/// Number of this language: raise it when a message changes.
pub const LANGUAGE: u32 = 1;
/// The word that makes this program run a study for another host.
pub const AGENT: &str = "server-agent";
/// The word that makes it the way from a trial back to the clients' host.
pub const WAY_BACK: &str = "way-back";
/// The variable that names where that way begins.
pub const WAY: &str = "TARE_WAY_BACK";

/// What a trial wants of the clients' host: nothing else is run there for it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Wanted {
    /// The clients' half.
    Clients,
    /// What a killed one had set, put back.
    Restore,
}

impl Wanted {
    /// What the command for the clients' host asks for; none where it is something else.
    pub fn of(command: &str) -> Option<Self> {
        [Self::Clients, Self::Restore].into_iter().find(|wanted| {
            let arguments = format!(" {}", wanted.arguments().join(" "));
            command.ends_with(&arguments)
        })
    }

    /// Arguments of this program that do it.
    pub fn arguments(self) -> &'static [&'static str] {
        match self {
            Self::Clients => &[super::remote::AGENT],
            Self::Restore => &["restore", "--json"],
        }
    }
}

/// A study to be run for another host.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Job {
    /// The study as TOML, without the way to the server's host.
    pub study: String,
    /// The folder of an earlier run there that is to go on.
    pub resume: Option<String>,
    /// The results directory as the user knows it.
    pub shown: String,
    /// The engine that the study's file named, where the command line named another.
    pub moved_from: Option<String>,
    /// Whether it has the size and settings of an article.
    pub as_published: bool,
    /// Only the plan is wanted.
    pub dry_run: bool,
    /// The plan as JSON.
    pub json: bool,
    /// Whether the study says itself at which address its servers listen.
    pub has_address: bool,
}

/// To the host where the study is run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Order {
    /// Run it.
    Run(Box<Job>),
    /// What a clients' half says, by the number under which it was wanted.
    Line(u32, String),
    /// It has ended with this exit code.
    Ended(u32, i32),
    /// The results are here; whether they are needed there to go on.
    Received {
        /// Whether they stay.
        keep: bool,
    },
    /// End, and put everything back.
    Stop,
}

/// From the host where the study is run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Report {
    /// Who it is.
    Hello {
        /// Version of the program there.
        version: String,
        /// The language that it speaks.
        language: u32,
    },
    /// There is a plan, and this folder holds what is run.
    Begun(String),
    /// A trial wants this of the clients' host, under a number.
    Wanted(u32, Wanted),
    /// What that trial says to it.
    Line(u32, String),
    /// That trial says no more.
    Gone(u32),
    /// A line of what the run prints.
    Out(String),
    /// A part of a file of the results.
    File {
        /// Its path in the results directory.
        path: String,
        /// The next bytes, in base64.
        bytes: String,
        /// Whether there are no more.
        is_last: bool,
    },
    /// The run has ended with this exit code, and all files were sent.
    Ended(i32),
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::language::other_host::OtherHost;

    #[test]
    fn a_trial_can_want_nothing_of_the_clients_host_but_its_half_and_putting_back() {
        let there = OtherHost { host: Some("here".into()), ..OtherHost::default() };
        for wanted in [Wanted::Clients, Wanted::Restore] {
            let command = there.command(wanted.arguments()).unwrap();
            assert_eq!(Wanted::of(command.last().unwrap()), Some(wanted));
        }
        for other in ["tare run x", "client-agent", "rm -rf client-agent2", ""] {
            assert_eq!(Wanted::of(other), None, "{other}");
        }
    }
}
