//! What can go wrong with threads that are to be bound, watched and proved.

use super::unpaired::Unpaired;
use tare_topology::bind::BindError;
use tare_topology::observe::ObserveError;
use thiserror::Error;

/// Why a subject's threads are not where they were asked to be, or nobody can tell.
#[derive(Debug, Error)]
pub enum SubjectError {
    /// A thread could not be bound.
    #[error(transparent)]
    Bind(#[from] BindError),
    /// A thread could not be looked at.
    #[error(transparent)]
    Observe(#[from] ObserveError),
    /// A connection whose server thread nobody knows cannot be bound.
    #[error("the server does not say which thread serves connection {0}, so that thread cannot be bound")]
    NoServerThread(usize),
    /// Threads of two programs that cannot be told which belong together.
    #[error(transparent)]
    Unpaired(#[from] Unpaired),
    /// A thread or page was elsewhere than it was told to be.
    #[error("placement not kept: {0}")]
    Stray(String),
}
