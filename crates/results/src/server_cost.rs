//! The server's cost per operation: for each quantity, one metric per transaction and one per query.

use crate::named::{Better, Named};
use serde::{Deserialize, Serialize};

/// The counted quantities of a server's processes and threads.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Quantity {
    Cpu,
    User,
    System,
    Switches,
    VoluntarySwitches,
    InvoluntarySwitches,
    /// Calls that read from files, sockets and pipes.
    ReadCalls,
    WriteCalls,
    /// Read requests to the devices with the server's files, from any process.
    StorageReads,
    StorageWrites,
    /// Flushes of the devices' caches, which fsync waits for.
    StorageFlushes,
    Read,
    /// Bytes sent to storage, immediately or later.
    Written,
    /// Page faults that needed no storage.
    MinorFaults,
    /// Page faults that waited for storage.
    MajorFaults,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Operation {
    Transaction,
    Query,
}

#[derive(Debug)]
pub struct ServerCost {
    /// The quantity of both of its metrics.
    pub quantity: Quantity,
    per_transaction: Named,
    per_query: Named,
}

impl ServerCost {
    pub fn metric(&self, operation: Operation) -> &Named {
        match operation {
            Operation::Transaction => &self.per_transaction,
            Operation::Query => &self.per_query,
        }
    }
}

/// Rank of the costs shown in tables: after the load's own metrics.
const SHOWN: u8 = 21;
const DETAIL: u8 = Named::DETAIL_RANK;

const fn cost(quantity: Quantity, names: [&'static str; 2], unit: &'static str, rank: u8) -> ServerCost {
    ServerCost {
        quantity,
        per_transaction: Named::new(names[0], unit, Better::Lower, rank),
        per_query: Named::new(names[1], unit, Better::Lower, rank),
    }
}

/// Every quantity. Total CPU time and total switches are shown in tables; the rest explains them.
pub static SERVER_COSTS: &[ServerCost] = &[
    cost(Quantity::Cpu, ["server_cpu_us_per_transaction", "server_cpu_us_per_query"], "us", SHOWN),
    cost(Quantity::Switches, ["server_switches_per_transaction", "server_switches_per_query"], "", SHOWN),
    cost(Quantity::User, ["server_user_us_per_transaction", "server_user_us_per_query"], "us", DETAIL),
    cost(Quantity::System, ["server_system_us_per_transaction", "server_system_us_per_query"], "us", DETAIL),
    cost(
        Quantity::VoluntarySwitches,
        ["server_voluntary_switches_per_transaction", "server_voluntary_switches_per_query"],
        "",
        DETAIL,
    ),
    cost(
        Quantity::InvoluntarySwitches,
        ["server_involuntary_switches_per_transaction", "server_involuntary_switches_per_query"],
        "",
        DETAIL,
    ),
    cost(Quantity::ReadCalls, ["server_read_calls_per_transaction", "server_read_calls_per_query"], "", DETAIL),
    cost(Quantity::WriteCalls, ["server_write_calls_per_transaction", "server_write_calls_per_query"], "", DETAIL),
    cost(Quantity::StorageReads, ["storage_reads_per_transaction", "storage_reads_per_query"], "", DETAIL),
    cost(Quantity::StorageWrites, ["storage_writes_per_transaction", "storage_writes_per_query"], "", DETAIL),
    cost(Quantity::StorageFlushes, ["storage_flushes_per_transaction", "storage_flushes_per_query"], "", DETAIL),
    cost(Quantity::Read, ["server_read_bytes_per_transaction", "server_read_bytes_per_query"], "bytes", DETAIL),
    cost(
        Quantity::Written,
        ["server_written_bytes_per_transaction", "server_written_bytes_per_query"],
        "bytes",
        DETAIL,
    ),
    cost(Quantity::MinorFaults, ["server_minor_faults_per_transaction", "server_minor_faults_per_query"], "", DETAIL),
    cost(Quantity::MajorFaults, ["server_major_faults_per_transaction", "server_major_faults_per_query"], "", DETAIL),
];

pub(crate) fn find(name: &str) -> Option<&'static Named> {
    let both = SERVER_COSTS.iter().flat_map(|cost| [&cost.per_transaction, &cost.per_query]);
    both.into_iter().find(|named| named.name() == name)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::metric::describe;

    #[test]
    fn each_server_cost_is_described_as_declared_and_ends_with_its_operation() {
        for cost in SERVER_COSTS {
            for (operation, end) in [(Operation::Transaction, "_per_transaction"), (Operation::Query, "_per_query")] {
                let named = cost.metric(operation);
                assert_eq!(describe(named.name()), named.metric, "{}", named.name());
                assert!(
                    named.name().ends_with(end) && named.metric.better == Better::Lower && !named.metric.is_primary()
                );
            }
        }
    }
}
