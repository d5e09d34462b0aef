//! The server's cost per operation: for each quantity, one metric per transaction and one per query.

use crate::named::{Better, Named};
use crate::unit::Unit;
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
    /// That of a quantity; every quantity has one.
    pub fn of(quantity: Quantity) -> Option<&'static Self> {
        SERVER_COSTS.iter().find(|cost| cost.quantity == quantity)
    }

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

/// A quantity with the beginning of the names of its metrics.
macro_rules! cost {
    ($quantity:ident, $name:literal, $unit:ident, $rank:ident) => {
        ServerCost {
            quantity: Quantity::$quantity,
            per_transaction: Named::new(concat!($name, "_per_transaction"), Unit::$unit, Better::Lower, $rank),
            per_query: Named::new(concat!($name, "_per_query"), Unit::$unit, Better::Lower, $rank),
        }
    };
}

/// Every quantity. Total CPU time and total switches are shown in tables; the rest explains them.
pub static SERVER_COSTS: &[ServerCost] = &[
    cost!(Cpu, "server_cpu_us", Us, SHOWN),
    cost!(Switches, "server_switches", Plain, SHOWN),
    cost!(User, "server_user_us", Us, DETAIL),
    cost!(System, "server_system_us", Us, DETAIL),
    cost!(VoluntarySwitches, "server_voluntary_switches", Plain, DETAIL),
    cost!(InvoluntarySwitches, "server_involuntary_switches", Plain, DETAIL),
    cost!(ReadCalls, "server_read_calls", Plain, DETAIL),
    cost!(WriteCalls, "server_write_calls", Plain, DETAIL),
    cost!(StorageReads, "storage_reads", Plain, DETAIL),
    cost!(StorageWrites, "storage_writes", Plain, DETAIL),
    cost!(StorageFlushes, "storage_flushes", Plain, DETAIL),
    cost!(Read, "server_read_bytes", Bytes, DETAIL),
    cost!(Written, "server_written_bytes", Bytes, DETAIL),
    cost!(MinorFaults, "server_minor_faults", Plain, DETAIL),
    cost!(MajorFaults, "server_major_faults", Plain, DETAIL),
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
