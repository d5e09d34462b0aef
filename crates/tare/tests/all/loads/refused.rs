//! Errors of `tare load` for unknown loads and unusable statements: what, where, and what to do.

use crate::support::{World, json, server_beside};
use tare_engine::Sqlite;

#[test]
fn an_unknown_load_is_refused_with_all_loads_and_the_nearest_first() {
    let world = World::new();
    for (wrong, right) in [("tpc", "tpcc"), ("pointselect", "point_select"), ("oltp_readonly", "read_only")] {
        let (_, err) = world.exits(2, &["load", wrong]);
        assert!(err.contains(&format!("expected: one of {right}, ")), "{err}");
        assert!(err.contains(&format!("did you mean \"{right}\"?")), "{err}");
        for kind in ["tpcc", "bulk_insert", "microbenchmarks", "NAME.sql", "pgbench", "NAME.toml", "dbt3"] {
            assert!(err.contains(kind), "{kind}: {err}");
        }
    }
    let (_, err) = world.exits(2, &["load", "dbt3"]);
    assert!(err.contains("dbt3 is only for studies: name = \"dbt3\" under [workload]"), "{err}");
    let (_, err) = world.exits(2, &["load", "point_select", "--engine", "sqlite"]);
    assert!(err.contains("SQLite has none: `tare run --engine sqlite` starts one of its own"), "{err}");
    let (_, err) = world.exits(2, &["load", "x", "--json"]);
    assert!(!err.contains("did you mean"), "{err}");
}

/// File, line and advice, before a connection to a server.
#[test]
fn a_mistake_in_statements_is_reported_with_its_place_and_advice() {
    let world = World::new();
    let refused = |name: &str, text: &str| {
        std::fs::write(world.path(name), text).unwrap();
        let document = json(&world.exits(2, &["load", name, "--json"]).0);
        ["error", "where", "advice"].map(|key| document[key].as_str().unwrap_or_default().to_owned())
    };
    let [what, place, advice] = refused("own.sql", "SELECT 1;\n\nINSERT INTO t\nVALUES (:id);\n");
    assert_eq!((place.as_str(), what.starts_with(":id has no value: ")), ("own.sql:3", true), "{what}");
    assert!(advice.starts_with("correct the script"), "{advice}");
    let [_, place, _] = refused("own.sql", "SELECT 1;\n\\sleep 5 ms\n");
    assert_eq!(place, "own.sql:2");
    let wrong = "[[transaction]]\nname = \"one\"\nstatments = [\"SELECT 1\"]\n";
    let [what, place, advice] = refused("own.toml", wrong);
    assert_eq!((what.as_str(), place.as_str()), ("the file of statements cannot be used", "own.toml"));
    assert!(advice.contains("docs/sql.md"), "{advice}");
    let (_, err) = world.exits(2, &["load", "own.toml"]);
    assert!(err.contains("; line 3: unknown field `statments`"), "{err}");
    for load in ["own.toml", "point_select"] {
        let (_, err) = world.exits(2, &["load", load, "-D", "scale=5"]);
        assert!(err.contains("-D"), "{err}");
    }
}

#[test]
fn a_statement_that_the_server_refuses_is_reported_with_file_and_line() {
    let world = World::new();
    let server = server_beside(&world, &Sqlite);
    let socket = server.address().to_string();
    let refused = |name: &str, text: &str| {
        std::fs::write(world.path(name), text).unwrap();
        let words = ["load", name, "--engine", "sqlite", "--socket", &socket, "--time", "1s", "--json"];
        let document = json(&world.exits(4, &words).0);
        assert!(document["advice"].as_str().unwrap().starts_with("correct the statement"), "{document}");
        document["where"].as_str().unwrap().to_owned()
    };
    assert_eq!(refused("own.sql", "SELECT 1;\n-- a comment\nSELEC 2;\n"), "own.sql:3");
    assert_eq!(
        refused("own.sql", "\\set id 1\nBEGIN;\nSELECT 1;\nSELECT * FROM nosuch WHERE a = :id;\nEND;"),
        "own.sql:4"
    );
    let of_toml = "[[transaction]]\nname = \"one\"\nstatements = [\"SELECT 1\", \"SELEC 2\"]\n";
    assert_eq!(refused("own.toml", of_toml), "own.toml, statement one_2");
}
