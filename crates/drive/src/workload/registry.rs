//! One line a load. A load's folder and its line here are all that adding one touches.

use super::command::CommandSettings;
use super::counters::CountersSettings;
use super::dbt3::Dbt3Settings;
use super::oltp::OltpSettings;
use super::pgbench::PgbenchSettings;
use super::sql::SqlSettings;
use super::sysbench::SysbenchSettings;
use super::tpcc::TpccSettings;
use super::{Load, NamedLoad};

/// Makes the sum of all loads' settings: each line is a variant, its settings, and the first of its names.
macro_rules! loads {
    ($($(#[doc = $doc:literal])* $(#[cfg($cfg:meta)])? $variant:ident($settings:ty),)*) => {
        /// A load with its settings: those of one, and of no other.
        #[derive(Debug, Clone, PartialEq)]
        pub enum AnyLoad {
            $($(#[doc = $doc])* $(#[cfg($cfg)])? $variant($settings),)*
        }

        impl AnyLoad {
            /// Every load as a study finds it when it names nothing else, each under the first of its names.
            pub fn all() -> Vec<Self> {
                vec![$($(#[cfg($cfg)])? Self::$variant(<$settings>::default()),)*]
            }

            /// The load that `workload.name` names, with its defaults.
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

            /// What the rest of the program asks of it.
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
    /// Statements and transactions of one's own, on a database.
    Sql(SqlSettings),
    Tpcc(TpccSettings),
    /// What a test adds, in exactly this way.
    #[cfg(test)]
    Fake(super::fake::FakeSettings),
}

impl Default for AnyLoad {
    fn default() -> Self {
        Self::Oltp(OltpSettings::default())
    }
}
