//! A server's buffer pool with a memory policy of its own. This machine may have one node, so the tests check that the
//! policy is set and what is refused; the virtual machines check where the pages are.

use crate::support::{World, trials, verified};
use rustix::process::geteuid;

fn study(engine: &str, pool: &str) -> String {
    format!(
        "name = \"pool\"\n[engine]\nname = \"{engine}\"\n[workload]\nname = \"read_only\"\nrows = 1000\n\
         preload = \"on\"\n[placement]\npool_memory = \"{pool}\"\n[sampling]\ntrials = 1\nattempts = 1\nwarmup_s = 0\n\
         sample_s = 0.3\n"
    )
}

#[test]
fn a_buffer_pool_gets_its_own_memory_policy_which_is_verified_in_the_record() {
    for (engine, pool, way) in
        [("mariadb", "interleave:all", "innodb_numa_interleave = ON"), ("postgresql", "bind:0", "of shared memory")]
    {
        let world = World::sharing();
        let study = world.study(&study(engine, pool));
        if engine == "postgresql" && !geteuid().is_root() {
            let (_, err) = world.exits(3, &["run", &study, "--dry-run"]);
            assert!(err.contains("only root can set the memory policy of a server's shared memory"), "{err}");
            continue;
        }
        world.exits(0, &["run", &study, "--out", "results"]);
        let record = trials(&world.path("results")).remove(0);
        let verified = verified(&record, "placement.pool_memory");
        assert!(verified.contains(way) && verified.contains("numa_maps shows"), "{verified}");
        let bytes = record["samples"][0]["covariates"]["server_pool_bytes_node0"].as_f64().unwrap();
        assert!(bytes > 2e5, "{record}");
        world.assert_clean();
    }
}
