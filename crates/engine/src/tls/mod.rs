//! TLS: the layer between a protocol and its socket, whom it believes, and what is said when it does not.

mod layer;
mod settings;

pub(crate) use layer::Layer;
pub(crate) use layer::tls_words;
