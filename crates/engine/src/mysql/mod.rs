//! MySQL (and servers built from it, such as Percona Server): a private instance without configuration files, X
//! plugin or network. Code shared with MariaDB is in `mariadb`; the program's own version text decides which of the
//! two it is.

mod binary;
mod install;
mod kind;

pub use kind::Mysql;
