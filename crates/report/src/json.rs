//! The output of `--json`: findings with their sentences. Scripts depend on its fields.

use crate::words::paste::paste;
use crate::words::{self, AnswerJson};
use serde::Serialize;
use tare_findings::certificate::Ratio;
use tare_findings::compare::{Comparison, ManyComparison};
use tare_findings::condition::ConditionSummary;
use tare_findings::find::Find;
use tare_findings::history::{ChangedFact, History, MetricHistory};
use tare_findings::hosts::Hosts;
use tare_findings::relative::RelativeTable;
use tare_findings::summary::Summary;
use tare_findings::why::{Cause, Proof, Times, Trial, Why};
use tare_results::Results;
use tare_results::schema::Plan;
use tare_text::object;

/// The output of `tare show --json`: the summary with its sentences. The fields of conditions, effects and scaling are
/// stable.
pub fn summary(summary: &Summary, results: &Results) -> impl Serialize {
    let answer = AnswerJson::of(&summary.answer);
    let reading = answer.text.clone();
    object! {
        conditions: summary.conditions.iter().map(condition).collect::<Vec<_>>(),
        #[serde(flatten)]
        summary,
        #[serde(flatten)]
        machines: summary.machines.as_ref().map(|hosts| object! { machines: machines(hosts) }),
        answer,
        reading,
        further_reading: words::further(summary, results),
        warnings: words::warnings_in_full(summary, results),
        #[serde(flatten)]
        relative: RelativeTable::of(summary).map(|relative| object! { relative }),
    }
}

fn machines(hosts: &Hosts) -> impl Serialize {
    let row = |row| {
        object! {
            #[serde(flatten)]
            row,
            differs: words::differs(row),
        }
    };
    object! {
        rows: hosts.rows.iter().map(row).collect::<Vec<_>>(),
        between_cov: hosts.between_cov,
        within_cov: hosts.within_cov,
    }
}

fn condition(condition: &ConditionSummary) -> impl Serialize {
    let metrics = condition.metrics.iter().map(|metric| {
        let cause = metric.mode_cause.as_ref().map(|cause| words::mode_cause(cause, metric.unit));
        object! {
            #[serde(flatten)]
            metric,
            #[serde(flatten)]
            cause: cause.map(|mode_cause| object! { mode_cause }),
        }
    });
    object! {
        #[serde(flatten)]
        condition,
        analysed_trials: condition.analysed(),
        metrics: metrics.collect::<Vec<_>>(),
    }
}

/// The output of `tare compare A B --json`; the fields of `metrics` are stable.
pub fn comparison(found: &Comparison) -> impl Serialize {
    object! {
        #[serde(flatten)]
        identical: found.identical.as_deref().map(|programs| object! { identical: words::identical(programs) }),
        differences: &found.differences,
        metrics: &found.metrics,
        #[serde(flatten)]
        losses: (!found.losses.is_empty()).then(|| object! { losses: &found.losses }),
        #[serde(flatten)]
        sessions: found.sessions.map(|sessions| object! { sessions }),
        gate: found.gate,
        notes: words::notes(&found.notes),
    }
}

/// The output of `tare compare A B C --json`.
pub fn comparisons(found: &ManyComparison) -> impl Serialize {
    object! {
        sides: &found.sides,
        metrics: &found.metrics,
        #[serde(flatten)]
        groups: (!found.groups.is_empty()).then(|| object! { groups: &found.groups }),
        #[serde(flatten)]
        losses: (!found.losses.is_empty()).then(|| object! { losses: &found.losses }),
        gate: found.gate,
        notes: words::notes(&found.notes),
    }
}

/// The output of `tare find --json`.
pub fn find(find: &Find, plan: &Plan) -> impl Serialize {
    let ahead = find.ahead().map(|ahead| ahead.name.as_str());
    let named = ahead.filter(|_| find.decided);
    let condition = plan.conditions.iter().find(|condition| Some(condition.name.as_str()) == named);
    let tail = find.tail.as_ref().and_then(|tail| Some((&find.candidates.get(tail.candidate)?.name, tail.p99_ratio)));
    object! {
        text: words::find::sentence(find),
        named,
        ahead,
        minimum_effect: find.rule.minimum_effect,
        confidence: 1.0 - find.rule.alpha,
        #[serde(flatten)]
        find,
        behind_at_most: find.known_behind(),
        lowest_p99: tail.map(|(name, ratio)| object! {
            name,
            #[serde(flatten)]
            ratio: Ratio::of(ratio),
        }),
        paste: condition.map(paste).unwrap_or_default(),
        stop: find.stop,
        stopped: words::find::stopped(find),
        sessions: find.rule.sessions,
    }
}

/// The output of `tare history --json`; its fields are stable, because scripts depend on them.
pub fn history(found: &History) -> impl Serialize {
    object! {
        text: words::history_sentence(found),
        minimum_effect: found.minimum_effect,
        by_time: found.by_time,
        without_result: &found.without,
        metrics: found.lines.iter().map(line).collect::<Vec<_>>(),
        #[serde(flatten)]
        gate: found.gate.as_ref().map(|gate| object! { gate: gate.outcome() }),
    }
}

fn line(line: &MetricHistory) -> impl Serialize {
    let name = |place: usize| line.points.get(place).map_or("", |point| point.run.as_str());
    let segments = line.segments.iter().map(|segment| {
        object! {
            first: name(segment.runs.start),
            last: name(segment.runs.end.saturating_sub(1)),
            runs: segment.runs.len(),
            mean: segment.mean,
            ci_low: segment.ci.map(|ci| ci.low),
            ci_high: segment.ci.map(|ci| ci.high),
            against_first: segment.against_first.map(Ratio::of),
        }
    });
    let fact = |found: &ChangedFact| {
        object! {
            #[serde(flatten)]
            difference: found.difference.clone(),
            // The first run with the new value.
            run: name(found.at),
        }
    };
    let changes = line.changes.iter().map(|found| {
        object! {
            // The last run before the change.
            after: name(found.place.first_after.saturating_sub(1)),
            before: name(found.place.first_after),
            // The same for the 95% range of the place: a change before or after it is unlikely.
            range: object! { after: name(found.place.ends().0), before: name(found.place.ends().1) },
            #[serde(flatten)]
            ratio: Ratio::of(found.ratio),
            p: found.p_value,
            // Null if a run at the ends of the range records no environment.
            environment: found.environment.as_ref().map(|all| all.iter().map(fact).collect::<Vec<_>>()),
            #[serde(flatten)]
            commits: found.commits.as_ref().map(|(last, first)| object! { commits: [last, first] }),
        }
    });
    object! {
        name: &line.name,
        condition: &line.condition,
        unit: line.unit,
        better: line.better,
        runs: &line.points,
        segments: segments.collect::<Vec<_>>(),
        changes: changes.collect::<Vec<_>>(),
        drift: line.drift.map(|drift| object! {
            #[serde(flatten)]
            ratio: Ratio::of(drift.ratio),
            p: drift.p_value,
        }),
        tested: line.not_tested.is_none(),
        not_tested: line.not_tested,
    }
}

/// The output of `tare why A B --json`, with experiments of `--prove`; the fields of `sides`, `difference` and `causes`
/// are stable.
pub fn why(found: &Why, experiments: &[impl Serialize]) -> impl Serialize {
    object! {
        text: words::why::why(found),
        sides: &found.sides,
        difference: object! {
            #[serde(flatten)]
            whole: found.difference,
            paired: found.paired,
            one_run: found.one_run,
            parts: &found.parts,
            not_explained: &found.not_explained,
            // The difference without the effect of other programs.
            undisturbed: found.undisturbed.map(|own| object! {
                us: own.us,
                ci_low: own.ci.map(|ci| ci.low),
                ci_high: own.ci.map(|ci| ci.high),
                shown: own.shown,
            }),
            sleeps: &found.sleeps.shown,
            sleeps_tested: found.sleeps.tested,
            functions: &found.functions.shown,
            functions_tested: found.functions.tested,
            statements: &found.statements.shown,
            statements_tested: found.statements.tested,
            #[serde(flatten)]
            events: (!found.events.is_empty()).then(|| object! { events: &found.events }),
            #[serde(flatten)]
            lines: found.lines.iter().any(Option::is_some).then(|| object! { lines: &found.lines }),
        },
        causes: found.causes.iter().map(cause).collect::<Vec<_>>(),
        #[serde(flatten)]
        proofs: (!experiments.is_empty()).then(|| object! { proofs: experiments }),
        notes: words::why::cautions(found).into_iter().chain(words::why::hardware(found)).collect::<Vec<_>>(),
    }
}

/// The output of `tare why RESULTS --json`: the times of conditions and their captures, without a difference.
pub fn times(times: &Times) -> impl Serialize {
    object! {
        sides: &times.conditions,
        difference: None::<()>,
        causes: [(); 0],
        #[serde(flatten)]
        captures: (!times.captures.is_empty()).then(|| object! { captures: &times.captures }),
        notes: words::why::cautions_of(times),
    }
}

fn cause(cause: &Cause) -> impl Serialize {
    object! {
        kind: &cause.suspect,
        name: cause.suspect.name(),
        us: cause.us,
        ci_low: cause.ci.map(|ci| ci.low),
        ci_high: cause.ci.map(|ci| ci.high),
        share: cause.share,
        counts: cause.counts,
        verdict: if cause.shown { "shown" } else { "not shown" },
        // Null if nothing can be changed, and without the file of a study.
        prove: words::suspects::command(cause).filter(|_| !cause.prove.changes.is_empty()),
        expected: cause.prove.expected,
        prove_s: cause.prove.estimated_s,
    }
}

/// An experiment of `--prove` with its time limit, seconds; without a verdict until it is finished.
pub fn experiment(trial: &Trial, made: Option<&Proof>, within_s: f64) -> impl Serialize {
    let ci = made.and_then(|proof| proof.ci);
    object! {
        kind: &trial.suspect,
        name: trial.suspect.name(),
        condition: &trial.condition,
        changes: words::suspects::changes_of_trial(&trial.changes),
        expected: trial.expected,
        effect: trial.effect,
        within_s,
        verdict: made.map(|proof| proof.verdict),
        ratio: made.and_then(|proof| proof.ratio),
        ci_low: ci.map(|ci| ci.low),
        ci_high: ci.map(|ci| ci.high),
        pairs: made.map(|proof| proof.pairs),
        elapsed_s: made.map(|proof| proof.elapsed_s),
        own_waits_us: made.and_then(|proof| proof.waits).map(|waits| waits.own_us),
        other_waits_us: made.and_then(|proof| proof.waits).map(|waits| waits.others_us),
        problem: made.and_then(|proof| proof.problem.as_ref()),
    }
}
