//! The SQL of PostgreSQL.

use crate::contract::dialect::{
    Backlog, BulkLoad, Collation, Counted, Dialect, Done, Identity, Index, PoolPages, Scan, number,
};
use crate::{Session, SqlError, SysbenchDriver};

#[derive(Debug)]
pub(super) struct PostgresDialect;

impl Dialect for PostgresDialect {
    fn placeholder(&self, number: usize) -> String {
        format!("${number}")
    }

    fn sysbench_driver(&self) -> Option<SysbenchDriver> {
        Some(SysbenchDriver::Pgsql)
    }

    /// As sysbench defines it.
    fn identity(&self) -> Identity {
        Identity { definition: "SERIAL NOT NULL", is_key: false }
    }

    /// A sequence does not advance when rows are inserted with explicit numbers.
    fn number_on(&self, table: &str, column: &str) -> Option<String> {
        Some(format!(
            "SELECT setval(pg_get_serial_sequence('{table}', '{column}'), (SELECT MAX({column}) FROM {table}))"
        ))
    }

    fn is_duplicate(&self, error: &SqlError) -> bool {
        error.code.is_some_and(|code| code.is_state("23505"))
    }

    /// The collation is that of the whole cluster, which is created with the locale C: by bytes.
    fn table_suffix(&self, _collation: Collation, _key_columns: usize) -> &'static str {
        ""
    }

    fn year(&self, column: &str) -> String {
        format!("CAST(EXTRACT(YEAR FROM {column}) AS INTEGER)")
    }

    /// A sequential scan of a large table bypasses most of the shared buffers (a ring of 256 KiB): pg_prewarm reads
    /// into them, also the primary key's own index.
    fn scans(&self, table: &str, _unindexed: &str, indexes: &[Index<'_>]) -> Vec<Scan> {
        let primary_key = format!("{table}_pkey");
        let names = [table, &primary_key].into_iter().chain(indexes.iter().map(|index| index.name));
        names.map(|name| Scan { sql: format!("SELECT pg_prewarm('{name}')"), counts: Counted::Pages }).collect()
    }

    fn bulk_load(&self) -> BulkLoad {
        BulkLoad::Stream
    }

    fn load_through_session(&self, table: &str) -> String {
        format!("COPY {table} FROM STDIN WITH (DELIMITER '|')")
    }

    fn read_all(&self, session: &mut dyn Session) -> Result<usize, SqlError> {
        let read = "SELECT COUNT(pg_prewarm(oid::regclass)) FROM pg_class \
                    WHERE relnamespace = 'public'::regnamespace AND relkind IN ('r', 'i', 'm')";
        Ok(number(session, read)?.map_or(0, |read| read as usize))
    }

    fn plan(&self, session: &mut dyn Session, sql: &str) -> Result<Option<String>, SqlError> {
        let rows = session.query(&format!("EXPLAIN (COSTS OFF) {sql}"))?;
        let lines = rows.into_iter().filter_map(|row| row.into_iter().next().flatten());
        Ok(Some(lines.collect::<Vec<_>>().join("\n")))
    }

    fn pages_in_memory(&self, session: &mut dyn Session) -> Result<Option<PoolPages>, SqlError> {
        let held = "SELECT COUNT(*) FROM pg_buffercache b JOIN pg_class c ON b.relfilenode = pg_relation_filenode(c.oid) \
                    WHERE b.reldatabase = (SELECT oid FROM pg_database WHERE datname = current_database()) \
                    AND b.relforknumber = 0 AND c.relnamespace = 'public'::regnamespace";
        let all = "SELECT SUM(pg_relation_size(oid) / current_setting('block_size')::int)::bigint FROM pg_class \
                   WHERE relnamespace = 'public'::regnamespace AND relkind IN ('r', 'i')";
        let pages = number(session, held)?.zip(number(session, all)?);
        Ok(pages.map(|(held, data)| PoolPages { held, data, reloads: false }))
    }

    /// Otherwise the next checkpoint may fall into a sample.
    fn begin_settling(&self) -> &'static [&'static str] {
        &["CHECKPOINT"]
    }

    /// Running autovacuum workers, and the tables that autovacuum will process by its rule (the manual's 24.1.6).
    fn backlog(&self, session: &mut dyn Session) -> Result<Vec<Backlog>, SqlError> {
        let workers = "SELECT COUNT(*) FROM pg_stat_activity \
                       WHERE backend_type = 'autovacuum worker' AND datname = current_database()";
        let limit = |of: &str| {
            format!(
                "current_setting('autovacuum_{of}_threshold')::float8 \
                 + current_setting('autovacuum_{of}_scale_factor')::float8 * GREATEST(c.reltuples, 0)"
            )
        };
        let tables = format!(
            "SELECT COUNT(*) FROM pg_stat_user_tables s JOIN pg_class c ON c.oid = s.relid \
             WHERE current_setting('autovacuum')::bool \
             AND NOT COALESCE(c.reloptions && ARRAY['autovacuum_enabled=false', 'autovacuum_enabled=off'], false) \
             AND (s.n_dead_tup > {} OR s.n_mod_since_analyze > {})",
            limit("vacuum"),
            limit("analyze")
        );
        let left = |what, amount: Option<u64>| amount.map(|amount| Backlog { what, amount, done: Done::AtMost(0) });
        let workers = left("autovacuum_workers", number(session, workers)?);
        Ok(workers.into_iter().chain(left("tables_to_vacuum", number(session, &tables)?)).collect())
    }
}
