//! MySQL (and what is built from it, as Percona Server): a private instance without configuration files, X plugin or
//! network. What it shares with MariaDB stands in `mariadb`; which of the two a program is, it says itself.

mod binary;
mod install;
mod kind;

pub use kind::Mysql;
