//! One line per load. Adding a load requires only its directory and its line here.

use super::Load;
use super::command::CommandSettings;
use super::counters::CountersSettings;
use super::dbt3::Dbt3Settings;
use super::oltp::OltpSettings;
use super::pgbench::PgbenchSettings;
use super::sql::SqlSettings;
use super::sysbench::SysbenchSettings;
use super::tpcc::TpccSettings;

/// Generates the enum of all loads: each line has a variant, its settings, and the first of its names.
macro_rules! loads {
    ($($(#[doc = $doc:literal])* $(#[cfg($cfg:meta)])? $variant:ident($settings:ty),)*) => {
        #[derive(Debug, Clone, PartialEq)]
        pub enum AnyLoad {
            $($(#[doc = $doc])* $(#[cfg($cfg)])? $variant($settings),)*
        }

        impl AnyLoad {
            /// Every load with default settings, each under the first of its names.
            pub fn all() -> Vec<Self> {
                vec![$($(#[cfg($cfg)])? Self::$variant(<$settings>::default()),)*]
            }

            /// The load named by `workload.name`, with default settings.
            pub fn named(name: &str) -> Option<Self> {
                let found = None;
                $($(#[cfg($cfg)])? let found = found.or_else(|| <$settings>::named(name).map(Self::$variant));)*
                found
            }

            pub fn names() -> Vec<&'static str> {
                let mut names = Vec::new();
                $($(#[cfg($cfg)])? names.extend(<$settings>::names());)*
                names
            }

            /// Its interface to the rest of the program.
            pub fn load(&self) -> &dyn Load {
                match self {
                    $($(#[cfg($cfg)])? Self::$variant(settings) => settings,)*
                }
            }

            pub fn load_mut(&mut self) -> &mut dyn Load {
                match self {
                    $($(#[cfg($cfg)])? Self::$variant(settings) => settings,)*
                }
            }
        }
    };
}

loads! {
    Oltp(OltpSettings),
    /// TPC-H's 22 queries, on a database.
    Dbt3(Dbt3Settings),
    Counters(CountersSettings),
    /// Any program, as the client of a server or alone.
    Command(CommandSettings),
    Sysbench(SysbenchSettings),
    Pgbench(PgbenchSettings),
    /// The user's own statements and transactions, on a database.
    Sql(SqlSettings),
    Tpcc(TpccSettings),
    /// A load for tests, added in the same way.
    #[cfg(test)]
    Fake(super::fake::FakeSettings),
}

impl Default for AnyLoad {
    fn default() -> Self {
        Self::Oltp(OltpSettings::default())
    }
}
