//! The outcome of published claims, one line each.

use super::comparison::compiled;
use super::find::shown_interval;
use tare_findings::reproduce::{Figure, Open, Reproduced, Why};
use tare_results::claim::{Band, Cannot, Claim, Measure, Needs, Published};
use tare_stats::Interval;
use tare_text::{count, list};

/// The verdict in few words, for a column.
pub fn verdict(found: Option<&Reproduced>) -> &'static str {
    match found {
        None => "not run",
        Some(Reproduced::Holds(_)) => "holds",
        Some(Reproduced::DoesNotHold(_)) => "does not hold",
        Some(Reproduced::NotDecided(_)) => "not decided",
        Some(Reproduced::CannotBeTested(_)) => "cannot be tested here",
    }
}

/// How many claims have which verdict: `2 of 5 claims hold here, 1 does not hold, 2 are not decided.`
pub fn sentence<'r>(found: impl Iterator<Item = Option<&'r Reproduced>>) -> String {
    let (mut hold, mut not, mut open, mut cannot) = (0, 0, 0, 0);
    for verdict in found {
        match verdict {
            Some(Reproduced::Holds(_)) => hold += 1,
            Some(Reproduced::DoesNotHold(_)) => not += 1,
            Some(Reproduced::NotDecided(_)) | None => open += 1,
            Some(Reproduced::CannotBeTested(_)) => cannot += 1,
        }
    }
    let message = |number: usize, one: &str, many: &str| match number {
        0 => None,
        1 => Some(format!("1 {one}")),
        number => Some(format!("{number} {many}")),
    };
    let rest = [
        message(not, "does not hold", "do not hold"),
        message(open, "is not decided", "are not decided"),
        message(cannot, "cannot be tested", "cannot be tested"),
    ];
    let all = hold + not + open + cannot;
    let holds = if hold == 1 || all == 1 { "holds" } else { "hold" };
    let first = format!("{hold} of {} {holds} here", count(all, "claim"));
    let all: Vec<String> = std::iter::once(first).chain(rest.into_iter().flatten()).collect();
    format!("{}.", all.join(", "))
}

/// The verdict with its figures: `holds: published 0.83x, here 0.79x (0.77x to 0.81x)`.
pub fn line(claim: &Claim, found: &Reproduced) -> String {
    let head = verdict(Some(found));
    match found {
        Reproduced::Holds(figure) | Reproduced::DoesNotHold(figure) => format!("{head}: {}", figures(claim, figure)),
        Reproduced::NotDecided(open) => format!("{head}: {}", not_decided(open, |figure| figures(claim, figure))),
        Reproduced::CannotBeTested(cannot) => format!("{head}: {}", because(cannot)),
    }
}

/// The text after verdict and published figure, when these have their own columns.
pub fn behind_verdict(claim: &Claim, found: &Reproduced) -> String {
    match found {
        Reproduced::Holds(figure) | Reproduced::DoesNotHold(figure) => here(claim, figure),
        Reproduced::NotDecided(open) => not_decided(open, |figure| here(claim, figure)),
        Reproduced::CannotBeTested(cannot) => because(cannot),
    }
}

fn figures(claim: &Claim, figure: &Figure) -> String {
    format!("published {}, here {}", published(claim), here(claim, figure))
}

/// The measured figure, on what, and what the machine and the trials say about it.
fn here(claim: &Claim, figure: &Figure) -> String {
    let measured = with_interval(claim, figure.value, figure.ci);
    let servers = match figure.servers.as_slice() {
        [] => String::new(),
        all => format!(" on {}", list(all)),
    };
    format!("{measured}{servers}{}{}{}", beyond(claim, figure), again(claim, figure), reservations(figure))
}

/// The ends of the claim's range that the interval reaches beyond, unless all of it lies on the other side of 1.
fn beyond(claim: &Claim, figure: &Figure) -> String {
    let (Some(ci), Band { from, to }) = (figure.ci, claim.holds) else { return String::new() };
    let is_opposite = from >= 1.0 && ci.high < 1.0 || to <= 1.0 && ci.low > 1.0;
    let shown = |end: f64| number(claim.measure, end);
    match (ci.low < from, to < ci.high) {
        _ if claim.measure.is_ratio() && is_opposite => String::new(),
        (false, false) => String::new(),
        (true, false) => format!("; the claim holds from {}", shown(from)),
        (false, true) => format!("; the claim holds up to {}", shown(to)),
        (true, true) => format!("; the claim holds from {} to {}", shown(from), shown(to)),
    }
}

fn with_interval(claim: &Claim, value: f64, ci: Option<Interval>) -> String {
    let shown = |value: f64| number(claim.measure, value);
    let ci = if claim.measure.is_ratio() { shown_interval(ci) } else { ci };
    match ci {
        Some(ci) => format!("{} ({} to {})", shown(value), shown(ci.low), shown(ci.high)),
        None => shown(value),
    }
}

fn again(claim: &Claim, figure: &Figure) -> String {
    let again = figure.again.filter(|again| again.ci.is_some());
    again.map(|again| format!("; A/A {}", with_interval(claim, again.value, again.ci))).unwrap_or_default()
}

fn reservations(figure: &Figure) -> String {
    let disturbed = match figure.disturbed {
        0 => String::new(),
        trials => format!("; {} disturbed", count(trials, "trial")),
    };
    let built = figure.compiled.map(|level| format!("; builds compiled {}", compiled(level))).unwrap_or_default();
    disturbed + &built
}

fn not_decided(open: &Open, figures: impl Fn(&Figure) -> String) -> String {
    let needs = match open.needs_s {
        Some(seconds) => format!("needs about {}", tare_text::duration((seconds / 60.0).ceil().max(2.0) * 60.0)),
        None => "the time needed is unknown".to_owned(),
    };
    let figures = open.figure.as_ref().map(|figure| format!("; {}", figures(figure))).unwrap_or_default();
    match open.why {
        Why::NotRun => match open.needs_s {
            Some(_) => format!("not run, {needs}"),
            None => "not run".to_owned(),
        },
        Why::TooFew => format!("too few trials succeeded, {needs}{figures}"),
        Why::Disturbed => format!("too few trials were undisturbed, repeat it on a quieter machine{figures}"),
        Why::Crosses => format!("{needs}{figures}"),
        Why::Again => format!("the same condition measured twice differs as well{figures}"),
    }
}

pub fn because(cannot: &Cannot) -> String {
    match cannot {
        Cannot::Nodes { needs, has } => format!("needs {}, has {has}", count(*needs, "NUMA node")),
        Cannot::Pus { needs, has } => format!("needs {}, has {has}", count(*needs, "logical CPU")),
        Cannot::Architecture { needs, has } => format!("needs {needs}, has {has}"),
        Cannot::Version { needs, has } => format!("needs version {needs} or newer, has {has}"),
        Cannot::Builds { missing, get } => format!("{} missing: {get}", missing.join(", ")),
        Cannot::Unpublished { what } => format!("{what} were not published"),
        Cannot::Condition { reason } => reason.clone(),
    }
}

/// The published figure, as printed next to the measured one.
pub fn published(claim: &Claim) -> String {
    match &claim.published {
        Published::Ratio(figure) | Published::Value(figure) => number(claim.measure, *figure),
        Published::Direction(words) => words.clone(),
    }
}

/// The listed requirements on a machine; `builds` are names of server builds. What the study needs besides, such as a
/// server, memory and CPUs, only its plan knows.
pub fn needs<'b>(needs: &Needs, builds: impl Iterator<Item = &'b String>) -> String {
    let nodes = needs.nodes.map(|nodes| count(nodes, "NUMA node"));
    let pus = needs.pus.map(|pus| count(pus, "logical CPU"));
    let arch = needs.arch.clone();
    let version = needs.version.as_ref().map(|version| format!("version {version} or newer"));
    let unpublished = needs.unpublished.as_ref().map(|what| format!("{what}, not published"));
    let all = [nodes, pus, arch, version, unpublished].into_iter().flatten().chain(builds.cloned());
    all.collect::<Vec<String>>().join(", ")
}

/// Ratios near 1 have a third digit; CoVs are percentages; other values have three digits, and small ones a power of
/// ten.
fn number(measure: Measure, value: f64) -> String {
    match measure {
        ratio if ratio.is_ratio() && (0.9..1.1).contains(&value) => format!("{value:.3}x"),
        Measure::Ratio
        | Measure::SpreadRatio
        | Measure::LargestSpreadRatio
        | Measure::LargestRatio
        | Measure::EveryRatio => format!("{value:.2}x"),
        Measure::WithinCov | Measure::BetweenCov => format!("{:.2}%", 100.0 * value),
        Measure::Value if value == 0.0 || value.abs() >= 100.0 => format!("{value:.0}"),
        Measure::Value if value.abs() >= 0.001 => format!("{value:.*}", (2.0 - value.abs().log10().floor()) as usize),
        Measure::Value => format!("{value:.2e}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tare_findings::reproduce::Again;
    use tare_results::schema::Levels;

    fn claim() -> Claim {
        Claim {
            name: "far-client".into(),
            text: String::new(),
            source: String::new(),
            published: Published::Ratio(0.83),
            measure: Measure::Ratio,
            metric: None,
            a: Levels::new(),
            b: None,
            holds: Band { from: 0.6, to: 0.95 },
        }
    }

    #[test]
    fn every_verdict_is_one_line_with_both_figures() {
        let ci = Some(Interval { low: 0.77, high: 0.81 });
        let servers = vec!["MySQL 8.0.44".to_owned()];
        let figure = Figure { value: 0.79, ci, again: None, trials: 6, disturbed: 0, servers, compiled: None };
        let message = |found: Reproduced| line(&claim(), &found);
        assert_eq!(
            message(Reproduced::Holds(figure.clone())),
            "holds: published 0.83x, here 0.79x (0.77x to 0.81x) on MySQL 8.0.44"
        );
        // In the table and on the page of claims too, whatever the verdict.
        let again = Some(Again { value: 1.01, ci: Some(Interval { low: 0.99, high: 1.03 }) });
        let twice = Figure { again, ..figure.clone() };
        for found in [Reproduced::Holds(twice.clone()), Reproduced::DoesNotHold(twice)] {
            assert_eq!(
                behind_verdict(&claim(), &found),
                "0.79x (0.77x to 0.81x) on MySQL 8.0.44; A/A 1.010x (0.990x to 1.030x)"
            );
        }
        let figure = Figure { servers: Vec::new(), ..figure };
        assert_eq!(
            message(Reproduced::NotDecided(Open {
                figure: Some(figure.clone()),
                why: Why::Crosses,
                needs_s: Some(200.0)
            })),
            "not decided: needs about 4 min; published 0.83x, here 0.79x (0.77x to 0.81x)"
        );
        assert_eq!(
            message(Reproduced::CannotBeTested(Cannot::Nodes { needs: 2, has: 1 })),
            "cannot be tested here: needs 2 NUMA nodes, has 1"
        );
        let near = Figure { value: 0.971, ci: Some(Interval { low: 0.9678, high: 0.974 }), ..figure.clone() };
        assert_eq!(
            message(Reproduced::DoesNotHold(near)),
            "does not hold: published 0.83x, here 0.971x (0.968x to 0.974x); the claim holds up to 0.950x"
        );
        let wide = Figure { ci: Some(Interval { low: 1e-16, high: 1e13 }), ..figure };
        let both = "holds: published 0.83x, here 0.79x; the claim holds from 0.60x to 0.950x";
        assert_eq!(message(Reproduced::Holds(wide)), both);
    }

    #[test]
    fn the_range_of_a_claim_is_printed_where_the_interval_reaches_beyond_it_but_does_not_lie_beyond_1() {
        let of = |low: f64, high: f64| {
            let ci = Some(Interval { low, high });
            beyond(
                &claim(),
                &Figure { value: 0.9, ci, again: None, trials: 6, disturbed: 0, servers: Vec::new(), compiled: None },
            )
        };
        assert_eq!(of(0.5, 0.7), "; the claim holds from 0.60x");
        assert_eq!(of(0.97, 1.03), "; the claim holds up to 0.950x");
        assert_eq!(of(0.5, 1.03), "; the claim holds from 0.60x to 0.950x");
        assert_eq!([of(0.7, 0.8), of(1.01, 1.03)], ["", ""]);
    }

    #[test]
    fn a_claim_without_listed_requirements_is_not_said_to_need_nothing() {
        assert_eq!(needs(&Needs::default(), std::iter::empty()), "");
        let two = Needs { nodes: Some(2), ..Needs::default() };
        assert_eq!(needs(&two, ["mariadb-10.11.5".to_owned()].iter()), "2 NUMA nodes, mariadb-10.11.5");
    }

    #[test]
    fn a_value_is_written_in_plain_digits_unless_it_is_very_small() {
        let written = [4096.0, 123.4, 99.0, 1.25, 0.0314, 0.001, 3e-7, 0.0].map(|value| number(Measure::Value, value));
        assert_eq!(written, ["4096", "123", "99.0", "1.25", "0.0314", "0.00100", "3.00e-7", "0"]);
    }
}
