//! How a server that runs already is reached: what the user says, and what the user's own files say. Passwords are read
//! here and nowhere else, and go nowhere but into the connection.

mod asked;
mod option_file;
mod passfile;
mod service;
mod target;
mod text;

pub use asked::Login;
pub(crate) use option_file::of_option_file;
pub(crate) use passfile::password_of;
pub(crate) use service::{as_libpq_reads, of_service, tls_of_environment};
pub use target::target_of;
