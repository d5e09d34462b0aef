//! TLS: the layer between a protocol and its socket, whom it believes, and what is said when it does not.

mod believe;
mod layer;
mod settings;
mod words;

pub(crate) use layer::Layer;
pub(crate) use words::tls_words;
