//! Which keys each load has, and how mistakes in them are reported.

use super::document::Source;
use super::parse::{Overrides, parse};
use crate::plan::design::conditions;

#[test]
fn a_key_of_another_load_is_a_mistake() {
    let text = "name = \"own\"\n[workload]\nrows = 5\nname = \"counters\"\n";
    let error = parse(Source { origin: "test", text }, &Overrides::default()).unwrap_err();
    assert_eq!((error.line, error.what.as_str()), (3, "unknown key of this workload `rows`"));
}

#[test]
fn a_load_that_is_a_level_takes_the_studys_keys_that_it_has() {
    let text = "name = \"own\"\n[workload]\nname = \"read_only\"\nrows = 5\n[factors]\n\
                workload = [\"read_only\", \"point_select\"]\n";
    let study = parse(Source { origin: "test", text }, &Overrides::default()).unwrap();
    for condition in conditions(&study).unwrap() {
        let load = condition.settings.workload.load;
        assert_eq!(
            (load.load().name(), load.load().get("rows")),
            (condition.levels["workload"].as_str(), Some(5_u64.into()))
        );
    }
}

#[test]
fn another_load_takes_over_none_of_the_keys_that_it_does_not_have() {
    let text = "name = \"own\"\n[workload]\nname = \"point_select\"\ntables = 2\nrows = 5\npreload = true\n";
    let of = |load: &str| {
        let overrides = Overrides { load: Some(load.to_owned()), ..Overrides::default() };
        parse(Source { origin: "own", text }, &overrides)
    };
    let tpcc = of("tpcc").unwrap().base.workload.load;
    assert_eq!(tpcc.load().name(), "tpcc");
    let other = of("read_write").unwrap().base.workload.load;
    assert_eq!((other.load().name(), other.load().get("rows")), ("read_write", Some(5_u64.into())));
    assert_eq!(of("tpc").unwrap_err().origin, "--load tpc");
    // A script of sysbench is the load of the same statements.
    assert_eq!(of("oltp_read_only").unwrap().base.workload.load.load().name(), "read_only");
    // A key set for the new load on the command line is not dropped like the study's own.
    let sets = vec!["workload.rows=5".to_owned()];
    let overrides = Overrides { load: Some("tpcc".to_owned()), sets, ..Overrides::default() };
    assert!(parse(Source { origin: "own", text }, &overrides).unwrap_err().what.contains("`rows`"));
}

#[test]
fn a_mistake_is_placed_where_it_was_written_in_the_file_or_on_the_command_line() {
    let of = |text: &str, sets: &[&str]| {
        let sets = sets.iter().map(|set| (*set).to_owned()).collect();
        let error = parse(Source { origin: "own", text }, &Overrides { sets, ..Overrides::default() }).unwrap_err();
        (error.origin, error.line, error.column)
    };
    let text = "name = \"own\"\n[workload]\nname = \"point_select\"\n";
    assert_eq!(of(text, &["workload.range_size=5"]), ("--set workload.range_size=5".to_owned(), 0, 0));
    let numbers = format!("{text}[factors]\nthreads = [1, 0]\n");
    assert_eq!(of(&numbers, &[]), ("own".to_owned(), 5, 15), "a level that is no text has its own place too");
    assert_eq!(of(text, &["factors.threads=1,0"]).0, "--set factors.threads");
}

#[test]
fn a_build_is_made_and_changed_from_the_command_line() {
    let of = |set: &str| {
        let text = "name = \"own\"\n[builds.old]\nname = \"mariadb\"\nbinary = \"/a\"\n[builds.new]\nname = \"mysql\"\n\
                    [factors]\nbuild = [\"old\", \"new\"]\n";
        parse(Source { origin: "own", text }, &Overrides { sets: vec![set.to_owned()], ..Overrides::default() })
    };
    for (set, binary) in [("builds.old.binary=/b", "/b"), ("builds.old.options.max_connections=9", "/a")] {
        let conditions = conditions(&of(set).unwrap()).unwrap();
        let old = conditions.iter().find(|condition| condition.levels["build"] == "old").unwrap();
        assert_eq!(old.settings.engine.binary.as_deref(), Some(std::path::Path::new(binary)));
        assert_eq!(old.settings.engine.options.contains_key("max_connections"), binary == "/a");
    }
    let wrong = of("builds.old.binry=/b").unwrap_err();
    assert!(wrong.what.contains("unknown key of [engine] `binry`"), "{wrong:?}");
}
