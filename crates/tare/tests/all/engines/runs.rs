//! Complete runs on real servers: pairs, options and layouts verified, nothing left.

use crate::engines::support::run_on;
use crate::support::{World, verified};
use tare_engine::{Engine, Mariadb, Postgresql};

fn run(world: &World, engine: &dyn Engine, study: &str) -> Vec<serde_json::Value> {
    let records = run_on(world, engine, 0, study);
    assert!(records.iter().all(|record| record["outcome"] == "ok"), "{records:?}");
    records
}

/// Each client and its server thread must run on the one PU of their pair; options and layout must be as requested.
fn pairs_are_proved(engine: &dyn Engine, version: &str, option: &str, value: &str) {
    let world = World::sharing();
    let study = format!(
        r#"
name = "pairs"
[engine]
name = "{}"
[engine.options]
{option} = "{value}"
[workload]
name = "read_write"
rows = 1000
threads = 2
[process]
aslr = "off"
[sampling]
trials = 1
warmup_s = 0.2
sample_s = 0.5
[placement]
client = "all"
server = "all"
bind = "thread"
pairing = "same-pu"
"#,
        engine.name()
    );
    let records = run(&world, engine, &study);
    assert_eq!(records.len(), 1);
    for record in &records {
        assert!(record["server_version"].as_str().unwrap().contains(version), "{record}");
        assert!(verified(record, &format!("option.{option}")).contains(value), "{record}");
        // personality(2): ADDR_NO_RANDOMIZE is 0x40000.
        assert!(verified(record, "aslr").contains("00040000"), "{record}");
        let threads = record["samples"][0]["threads"].as_array().unwrap();
        for pair in 0..2 {
            let of = |role: &str| threads.iter().find(|t| t["role"] == role && t["pair"] == pair).unwrap();
            assert_eq!(of("client")["allowed_cpus"], pair.to_string(), "{record}");
            assert_eq!(of("server")["allowed_cpus"], pair.to_string(), "{record}");
            assert_eq!(of("server")["seen_cpus"].as_object().unwrap().len(), 1, "{record}");
            assert_ne!(of("server")["pid"], of("client")["pid"]);
        }
    }
    world.assert_clean();
}

#[test]
fn every_client_server_pair_of_mariadb_is_bound_and_every_setting_verified() {
    pairs_are_proved(&Mariadb, "MariaDB", "innodb_adaptive_hash_index", "OFF");
}

#[test]
fn every_client_server_pair_of_postgresql_is_bound_and_every_setting_verified() {
    pairs_are_proved(&Postgresql, ".", "shared_buffers", "64MB");
}
