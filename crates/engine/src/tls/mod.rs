//! TLS: the layer between a protocol and its socket, whom it trusts, and its error messages.

mod layer;
mod settings;

pub(crate) use layer::Layer;
pub(crate) use layer::tls_words;
