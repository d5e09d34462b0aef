//! TLS: the layer between a protocol and its socket, whom it trusts, and its error messages.

mod layer;
mod settings;

pub(crate) use layer::{Layer, tls_words};
