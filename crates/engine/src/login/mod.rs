//! How to reach a running server, from the user's input and the user's own files. Passwords are read only here, and
//! are passed only to the connection.

mod files;
mod parameters;
mod target;
mod variables;

pub(crate) use files::{as_libpq_reads, of_option_file, of_service, password_of};
pub use parameters::Login;
pub use target::target_of;
pub(crate) use target::{socket_of_postgres, sockets_of_mysql};
pub(crate) use variables::{of_variables_of_libpq, of_variables_of_mysql};
