//! The two halves of a watch whose clients and server are on two hosts.

use super::{Partner, SubjectWatch, SutError};
use tare_cpuset::ThreadRef;

impl SubjectWatch {
    /// A watch over client threads of this host whose server is on another, where `partner` watches.
    #[must_use]
    pub fn with_partner(mut self, partner: Box<dyn Partner>) -> Self {
        self.partner = Some(partner);
        self
    }

    /// A watch over a server of this host whose clients are on another.
    #[must_use]
    pub fn without_clients(mut self) -> Self {
        self.clients_elsewhere = true;
        self
    }

    /// Binds the server threads behind connections of clients that are on another host, by their numbers here.
    ///
    /// # Errors
    /// As [`SubjectWatch::connected`]; also when there is no thread of such a number.
    pub fn serves(&mut self, serving: &[Option<i32>]) -> Result<(), SutError> {
        let known = |tid: &Option<i32>| tid.map(ThreadRef::of_tid).transpose();
        let threads = serving.iter().map(known).collect::<Result<Vec<_>, _>>()?;
        self.join(threads.into_iter().map(|serving| (None, serving)).collect())
    }
}
