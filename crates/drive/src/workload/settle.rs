//! What a study asks for between warm-up and samples.

/// What is done between warm-up and samples, clients at rest.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Settle {
    /// Seconds that are waited at most; 0: the server is not asked what is left.
    pub limit_s: f64,
    /// Statements that are sent before that, one after the other.
    pub statements: Vec<String>,
}

impl Settle {
    pub fn is_asked(&self) -> bool {
        self.limit_s > 0.0 || !self.statements.is_empty()
    }
}
