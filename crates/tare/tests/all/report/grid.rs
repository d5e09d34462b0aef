//! Tables of client location by server location, as the articles on placement print them.

use super::commands::tare;
use crate::support::json;
use std::path::Path;

const CLIENTS: [&str; 3] = ["node:near.core:0", "node:far.core:0", "node:far.core:0.pu:0"];
const SERVERS: [&str; 2] = ["node:near.core:2-", "node:near.core:2"];

/// A grid, and one condition outside it.
fn csv(path: &Path) {
    let mut text = "condition,trial,sample,metric,value\n".to_owned();
    let mut trial = 0;
    for (row, client) in CLIENTS.iter().enumerate() {
        for (column, server) in SERVERS.iter().enumerate() {
            for run in 0..3 {
                let tps = 40_000 - 5_000 * row + 1_000 * column + 10 * run;
                text.push_str(&format!("client={client} server={server},{trial},0,tps,{tps}\n"));
                trial += 1;
            }
        }
    }
    text.push_str(&format!("client=cpus:0 server=cpus:4 numa_balancing=off,{trial},0,tps,33000\n"));
    std::fs::write(path, text).unwrap();
}

#[test]
fn client_and_server_locations_form_a_table_in_terminal_page_and_json() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("grid.csv");
    csv(&file);
    let file = file.to_str().unwrap();
    let (code, out, err) = tare(&["show", file]);
    assert_eq!(code, 0, "{err}");
    let table = out.split("clients by row, server by column").nth(1).unwrap();
    let row = table.lines().find(|line| line.starts_with("node:far.core:0 ")).unwrap();
    assert!(row.contains("35.01 ± 0.0") && row.contains("36.01 ± 0.0"), "{table}");
    let (_, out, _) = tare(&["show", file, "--json"]);
    let shown = json(&out);
    let grids = shown["placement_grids"].as_array().unwrap();
    assert_eq!(grids.len(), 1, "a single pair of places is no table: {out}");
    let cell = &grids[0]["cells"][2][1];
    assert_eq!(cell["condition"], format!("client={} server={}", CLIENTS[2], SERVERS[1]));
    assert_eq!(cell["trials"], serde_json::json!([31000.0, 31010.0, 31020.0]));
    assert!(cell["ci_low"].as_f64().unwrap() < 31010.0 && cell["ci_high"].as_f64().unwrap() > 31010.0);
    let page = dir.path().join("grid.html");
    let (code, _, err) = tare(&["report", file, "--output", page.to_str().unwrap()]);
    assert_eq!(code, 0, "{err}");
    let html = std::fs::read_to_string(page).unwrap();
    assert!(html.contains("Clients by server locations") && html.contains("31.00 31.01 31.02"), "a section");
}
