//! An engine without a database, for tests. It shows what an engine must implement, and that one line registers it.

use crate::contract::dialect::{Collation, Dialect, Identity};
use crate::contract::server::Fill;
use crate::{
    Binary, ConnectTarget, DataDirectory, Engine, EngineError, Footprint, Param, PrepareRequest, Server, Session,
    SqlError, StartRequest, StatementId, StopOutcome,
};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Duration;
use tare_cpuset::ThreadRef;

/// The engine `fake`: no server, no data; it answers at once.
pub(crate) struct Fake;

pub(crate) fn request() -> StartRequest {
    let log = tare_files::LogFile::at(Path::new("log")).unwrap();
    StartRequest::new(DataDirectory::InPlace(PathBuf::new()), PathBuf::new(), log)
}

#[derive(Debug)]
struct FakeDialect;

impl Dialect for FakeDialect {
    fn placeholder(&self, number: usize) -> String {
        format!(":p{number}")
    }

    fn identity(&self) -> Identity {
        Identity { definition: "COUNTER", is_key: true }
    }

    fn table_suffix(&self, _: Collation, _: usize) -> &'static str {
        ""
    }

    fn year(&self, column: &str) -> String {
        format!("YEAR OF {column}")
    }

    fn read_all(&self, _: &mut dyn Session) -> Result<usize, SqlError> {
        Ok(0)
    }
}

impl Engine for Fake {
    fn name(&self) -> &'static str {
        "fake"
    }

    fn dialect(&self) -> &'static dyn Dialect {
        &FakeDialect
    }

    fn footprint(&self, _options: &BTreeMap<String, String>, _data_bytes: u64) -> Footprint {
        Footprint::default()
    }

    fn start_cost_s(&self) -> f64 {
        0.0
    }

    fn fresh_cost_s(&self) -> f64 {
        0.0
    }

    fn check_data(&self, _: &Path, _: &Binary) -> Result<(), EngineError> {
        Ok(())
    }

    fn binary(&self, _: Option<&Path>) -> Result<Binary, EngineError> {
        Ok(Binary {
            path: PathBuf::new(),
            product: "Fake",
            version: "1".to_owned(),
            build_id: None,
            build: Default::default(),
            identity: "1".to_owned(),
            libraries: None,
        })
    }

    fn knows_option(&self, _: &str, _: Option<&Path>) -> Result<bool, EngineError> {
        Ok(false)
    }

    fn option_names(&self, _: Option<&Path>) -> Result<Vec<String>, EngineError> {
        Ok(Vec::new())
    }

    fn is_prepared(&self, _: &Path, _: &Binary, _: &BTreeMap<String, String>, _: &str) -> bool {
        false
    }

    fn prepare_data(&self, _: &PrepareRequest, _: &mut Fill<'_>) -> Result<PathBuf, EngineError> {
        Ok(PathBuf::new())
    }

    fn start(&self, _: &StartRequest) -> Result<Box<dyn Server>, EngineError> {
        Ok(Box::new(FakeServer(ConnectTarget::private(PathBuf::new(), ""))))
    }

    fn connect(&self, _: &ConnectTarget) -> Result<Box<dyn Session>, EngineError> {
        Ok(Box::new(FakeSession(&[])))
    }
}

struct FakeServer(ConnectTarget);

impl Server for FakeServer {
    fn pid(&self) -> u32 {
        std::process::id()
    }

    fn engine(&self) -> &'static dyn Engine {
        &Fake
    }

    fn data(&self) -> &Path {
        Path::new("")
    }

    fn target(&self) -> &ConnectTarget {
        &self.0
    }

    fn version(&self) -> &str {
        "1"
    }

    fn setting(&self, _: &str) -> Result<Option<String>, EngineError> {
        Ok(None)
    }

    fn stop(&mut self, _: Duration) -> Result<StopOutcome, EngineError> {
        Ok(StopOutcome::AlreadyGone)
    }

    fn is_alive(&mut self) -> bool {
        true
    }

    fn log_tail(&self, _: usize) -> Vec<String> {
        Vec::new()
    }
}

/// Answers a statement that contains one of these words with the rows next to the word, any other with no rows.
pub(crate) struct FakeSession(pub &'static [(&'static str, &'static [&'static [&'static str]])]);

impl Session for FakeSession {
    fn prepare(&mut self, _: &str) -> Result<StatementId, SqlError> {
        Ok(StatementId(0))
    }

    fn execute(&mut self, _: StatementId, _: &[Param<'_>]) -> Result<u64, SqlError> {
        Ok(0)
    }

    fn run(&mut self, _: &str) -> Result<u64, SqlError> {
        Ok(0)
    }

    fn query(&mut self, sql: &str) -> Result<Vec<Vec<Option<String>>>, SqlError> {
        let found = self.0.iter().find(|(word, _)| sql.contains(word));
        let row = |values: &&[&str]| values.iter().map(|value| Some((*value).to_owned())).collect();
        Ok(found.map_or_else(Vec::new, |(_, rows)| rows.iter().map(row).collect()))
    }

    fn server_thread(&mut self) -> Result<Option<ThreadRef>, SqlError> {
        Ok(None)
    }
}
