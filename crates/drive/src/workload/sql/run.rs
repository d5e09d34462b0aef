//! Warm-up and samples: a connection a client thread, and what each counts.

use super::client::SqlClient;
use super::mix::Mix;
use super::tally::Tally;
use crate::workload::sessions::{self, Connections, Connector, Ran, Tallies};
use crate::workload::{LoadError, Stage};
use std::sync::Arc;

pub(super) fn run(mix: &Arc<Mix>, rate: Option<f64>, stage: &mut Stage<'_>) -> Result<Vec<Ran<Tally>>, LoadError> {
    let tallies = Arc::new(Tallies::new(Tally::new(mix.statements().count())));
    let connections = Connections::new(stage.threads);
    let dialect = stage.dialect;
    let client =
        |session, _| SqlClient::new(session, dialect, Arc::clone(mix), Arc::clone(&tallies)).map_err(LoadError::own);
    let connector = Connector::new(stage, &connections, client);
    sessions::run(rate, stage, &connector, &connections, |samples| tallies.take(samples))
}
