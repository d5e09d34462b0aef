//! JUnit XML for CI systems: one suite per condition, one case per attempt at a trial.

use super::source::Source;
use crate::words::failure;
use quick_xml::Writer;
use quick_xml::events::{BytesDecl, BytesEnd, BytesStart, BytesText, Event};
use std::io::{self, Write};
use tare_findings::collect::{self, ConditionTrials};
use tare_findings::state::{self, State};
use tare_results::schema::TrialRecord;

/// Writes failed trials as failures, disturbed attempts that were repeated as skipped, and the condition's means as
/// properties.
pub(crate) fn write(source: &Source<'_>, out: &mut dyn Write) -> io::Result<()> {
    let mut xml = Writer::new_with_indent(out, b' ', 1);
    xml.write_event(Event::Decl(BytesDecl::new("1.0", Some("UTF-8"), None)))?;
    let mut top = BytesStart::new("testsuites");
    top.push_attribute(("name", clean(&source.results.study).as_str()));
    xml.write_event(Event::Start(top))?;
    for condition in &collect::conditions(source.results) {
        suite(&mut xml, source, condition)?;
    }
    xml.write_event(Event::End(BytesEnd::new("testsuites")))?;
    xml.into_inner().write_all(b"\n")
}

fn suite(xml: &mut Writer<&mut dyn Write>, source: &Source<'_>, condition: &ConditionTrials<'_>) -> io::Result<()> {
    let (ok, failed, aside) = (&condition.ok, &condition.failed, &condition.set_aside);
    let all = || ok.iter().chain(failed).chain(aside);
    let name = format!("{} {}", source.results.study, condition.name);
    let mut start = BytesStart::new("testsuite");
    start.push_attribute(("name", clean(&name).as_str()));
    for (key, count) in [("tests", all().count()), ("failures", failed.len()), ("errors", 0), ("skipped", aside.len())]
    {
        start.push_attribute((key, count.to_string().as_str()));
    }
    start.push_attribute(("time", seconds(all().map(|trial| trial.elapsed_s).sum()).as_str()));
    if let Some(first) = all().map(|trial| trial.started_at.as_str()).filter(|at| !at.is_empty()).min() {
        start.push_attribute(("timestamp", without_zone(first).as_str()));
    }
    xml.write_event(Event::Start(start))?;
    let means = source.summary.conditions.iter().find(|found| found.name == condition.name);
    let means = means.iter().flat_map(|found| &found.metrics).filter(|metric| source.wants(&metric.name));
    let properties = means.map(|metric| {
        let mut property = BytesStart::new("property");
        property.push_attribute(("name", clean(&metric.name).as_str()));
        property.push_attribute(("value", metric.mean.to_string().as_str()));
        property
    });
    let properties: Vec<BytesStart<'_>> = properties.collect();
    if !properties.is_empty() {
        xml.write_event(Event::Start(BytesStart::new("properties")))?;
        properties.into_iter().try_for_each(|property| xml.write_event(Event::Empty(property)))?;
        xml.write_event(Event::End(BytesEnd::new("properties")))?;
    }
    ok.iter().try_for_each(|trial| case(xml, &name, trial, None))?;
    failed.iter().try_for_each(|trial| case(xml, &name, trial, Some("failure")))?;
    aside.iter().try_for_each(|trial| case(xml, &name, trial, Some("skipped")))?;
    xml.write_event(Event::End(BytesEnd::new("testsuite")))
}

fn case(xml: &mut Writer<&mut dyn Write>, suite: &str, trial: &TrialRecord, not_ok: Option<&str>) -> io::Result<()> {
    let mut start = BytesStart::new("testcase");
    start.push_attribute(("classname", clean(suite).as_str()));
    start.push_attribute(("name", format!("trial {} attempt {}", trial.trial, trial.attempt).as_str()));
    start.push_attribute(("time", seconds(trial.elapsed_s).as_str()));
    let Some(not_ok) = not_ok else { return xml.write_event(Event::Empty(start)) };
    let reason = match state::of(trial) {
        State::Failed(reason) => clean(&failure(&reason)),
        State::Disturbed(reason) => clean(&reason),
        State::Clean => String::new(),
    };
    xml.write_event(Event::Start(start))?;
    let mut inner = BytesStart::new(not_ok);
    // CI systems show it on one line; the first line of a reason may only announce what the program wrote.
    inner.push_attribute(("message", reason.lines().collect::<Vec<_>>().join(" ").as_str()));
    if not_ok == "failure" {
        inner.push_attribute(("type", "trial"));
        xml.write_event(Event::Start(inner))?;
        xml.write_event(Event::Text(BytesText::new(&reason)))?;
        xml.write_event(Event::End(BytesEnd::new(not_ok)))?;
    } else {
        xml.write_event(Event::Empty(inner))?;
    }
    xml.write_event(Event::End(BytesEnd::new("testcase")))
}

/// XML 1.0 cannot represent control characters.
fn clean(text: &str) -> String {
    tare_text::shown(text)
}

fn seconds(s: f64) -> String {
    format!("{:.3}", if s.is_finite() { s } else { 0.0 })
}

/// The schema requires a time without fraction and time zone.
fn without_zone(at: &str) -> String {
    at.chars().take("2026-01-01T00:00:00".len()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use tare_results::schema::{Outcome, PlannedTrial};

    #[test]
    fn the_message_of_a_failure_has_all_lines_of_its_reason() {
        let planned = PlannedTrial { trial: 0, block: 0, condition: "base".to_owned(), lifetime: None };
        let reason = Some("it ended with exit status: 3; it wrote last:\ncannot open file x".to_owned());
        let trial = TrialRecord {
            outcome: Outcome::Failed,
            reason,
            ..TrialRecord::new(&planned, 1, Default::default(), String::new())
        };
        let mut text = Vec::new();
        case(&mut Writer::new(&mut text as &mut dyn Write), "s", &trial, Some("failure")).unwrap();
        let text = String::from_utf8(text).unwrap();
        assert!(text.contains("message=\"it ended with exit status: 3; it wrote last: cannot open file x\""), "{text}");
    }
}
