//! Tests of reading and writing `[decide]`.

use super::super::document::Source;
use super::super::parse::{Overrides, parse};
use super::super::spec::Study;
use super::super::write::to_toml;
use super::*;

fn study(decide: &str) -> Result<Study, StudyError> {
    let text = format!("name = \"s\"\n[decide]\n{decide}");
    parse(Source { origin: "s.toml", text: &text }, &Overrides::default())
}

#[test]
fn every_key_is_read_and_comes_back_from_what_is_written() {
    let found = study(
        "a = \"aslr=on\"\nb = \"aslr=off\"\nmetric = \"tps\"\nminimum_effect = \"3%\"\nbudget_s = 1800\n\
         sessions = 5\nduet = true\ncontrols = \"query_s_q1, query_s_q6\"\nseed = 7\n",
    )
    .unwrap();
    let decide = found.decide.clone().unwrap();
    assert_eq!((decide.minimum_effect, decide.sessions, decide.seed), (Some(0.03), Some(5), Some(7)));
    assert!(decide.duet);
    assert_eq!(decide.controls, ["query_s_q1", "query_s_q6"]);
    let again = parse(Source { origin: "s.toml", text: &to_toml(&found) }, &Overrides::default()).unwrap();
    assert_eq!(again.decide, found.decide);
}

#[test]
fn a_wrong_decide_key_is_refused_with_what_was_expected() {
    for (wrong, expected) in [
        ("sessions = 3", "1, or 5 to 1000"),
        ("sessions = 1001", "1, or 5 to 1000"),
        ("minimum_effect = \"2\"", "0.02"),
        ("bugdet_s = 3", "budget_s"),
        ("budget_s = 0", "above 0"),
    ] {
        let error = format!("{:?}", study(wrong).unwrap_err());
        assert!(error.contains(expected), "{wrong}: {error}");
    }
}
