//! Guarantees of the traits `Engine`, `Server` and `Session`, for every engine. Tests of one engine are elsewhere.

mod life;
mod refusals;
pub mod serving;
mod sessions;
mod table;
mod tcp;

macro_rules! conforms {
    ($engine:ident, $differs:ident) => {
        mod $engine {
            use super::{life, refusals, table::$differs, tcp};

            #[test]
            fn a_life_of_a_server_from_preparation_to_stop_leaves_only_cache_and_logs() {
                life::from_preparing_to_stopping(&$differs);
            }

            #[test]
            fn a_tcp_server_is_private_has_the_requested_settings_and_ends_with_its_handle() {
                tcp::from_start_to_drop(&$differs);
            }

            #[test]
            fn a_server_that_cannot_start_reports_the_reason_and_leaves_nothing() {
                refusals::each_with_its_reason(&$differs);
            }
        }
    };
}

conforms!(mariadb, MARIADB);
conforms!(mysql, MYSQL);
conforms!(postgresql, POSTGRESQL);
conforms!(sqlite, SQLITE);

#[test]
fn clients_on_another_host_may_use_the_database_and_nothing_beyond() {
    for differs in [table::SQLITE, table::MARIADB, table::MYSQL, table::POSTGRESQL] {
        tcp::clients_may_use_the_database_alone(&differs);
    }
}
