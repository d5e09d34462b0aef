//! Every load, and external programs as clients, on real servers.

mod clients;
mod commands;
mod counters;
mod dbt3;
mod dbt3_run;
mod load_end;
mod load_prompt;
mod objective;
mod own_sql;
mod refused;
mod same_as_sysbench;
mod settle;
mod tpcc;
mod tpcc_statements;
mod warm;
