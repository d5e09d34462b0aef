//! The answer: its first sentence, and the sentences below it.

use super::details::details;
use super::headline::headline;
use serde::Serialize;
use tare_findings::verdict::{Answer, Disturbed, Selected, Verdict, Without};
use tare_text::{count, duration, was};

#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct AnswerJson {
    /// One sentence of at most 25 words. If some trials were disturbed and enough are left, it is about the clean
    /// trials only.
    pub text: String,
    /// Intervals, exceptions and conditions that are not distinguishable, in a sentence or two each.
    pub details: Vec<String>,
    /// Whether the answer was tested, together with all other claims of the study, see `confidence`.
    pub tested: bool,
    /// Whether trials that count were disturbed.
    pub disturbed: bool,
    /// The findings behind the first sentence; a second finding includes the disturbed trials.
    pub findings: Vec<Verdict>,
}

impl AnswerJson {
    pub fn of(answer: &Answer) -> Self {
        let all = &answer.verdict;
        let (text, mut details, findings) = match &answer.disturbed {
            None => (headline(all), details(all), vec![all]),
            Some(disturbed) => with_disturbed(all, disturbed),
        };
        let is_open = answer.decides().is_none();
        // Without a test of the clean trials, all trials were disturbed.
        let all_disturbed = |found: &Disturbed| found.without == Without::Untested && found.trials == found.of;
        let kind = match (is_open, answer.disturbed.as_ref().is_some_and(all_disturbed), answer.is_rehearsal) {
            (true, _, false) => "Inconclusive: ",
            (true, _, true) => "Inconclusive rehearsal: ",
            (false, true, false) => "Disturbed: ",
            (false, true, true) => "Disturbed rehearsal: ",
            (false, false, true) => "Rehearsal: ",
            (false, false, false) => "",
        };
        let text = format!("{kind}{text}");
        if answer.is_rehearsal {
            details.insert(0, "A rehearsal (--quick) is too short to rely on.".to_owned());
        }
        details.extend(not_measured(answer));
        let findings: Vec<Verdict> = findings.into_iter().cloned().collect();
        let tested = !is_open && all.is_tested();
        Self { text, details, tested, disturbed: answer.disturbed.is_some(), findings }
    }
}

/// Levels that the study requests and this run did not measure.
fn not_measured(answer: &Answer) -> Vec<String> {
    let mut sentences: Vec<String> = Vec::new();
    for out in &answer.left_out {
        sentences.push(format!("Without {} = {}: {}.", out.setting, out.level, out.reason));
    }
    if let Some(look) = &answer.ended_early {
        sentences.push(format!(
            "Ended early, after {} of {} blocks (look {} of {}): its question was decided.",
            look.blocks, look.of_blocks, look.number, look.of
        ));
    }
    let Some((within, conditions)) = &answer.within else { return sentences };
    let mut cut: Vec<String> =
        within.levels.iter().map(|(factor, levels)| format!("{factor} {}", levels.join(", "))).collect();
    if *conditions > 0 {
        cut.push(format!("{} for lack of time", count(*conditions, "condition")));
    }
    if !cut.is_empty() {
        sentences.push(format!("Not measured, to fit {}: {}.", duration(within.requested_s), cut.join("; ")));
    } else if within.stopped > 0 {
        let (trials, were) = (count(within.stopped, "trial"), was(within.stopped));
        sentences
            .push(format!("{trials} {were} not measured: the limit of {} was reached.", duration(within.requested_s)));
    }
    sentences
}

/// Results that include disturbed trials are stated separately from those of clean trials.
fn with_disturbed<'v>(all: &'v Verdict, disturbed: &'v Disturbed) -> (String, Vec<String>, Vec<&'v Verdict>) {
    let (were, them) = (was(disturbed.trials), if disturbed.trials == 1 { "it" } else { "them" });
    let lead = format!("{} of {} {were} disturbed", disturbed.trials, count(disturbed.of, "trial"));
    // A headline is a sentence, and may begin with a name.
    let with_all = format!("With all trials, disturbed or not, the answer is \"{}\"", headline(all));
    let clean =
        |clean: &'v Verdict, what: String| (headline(clean), [details(clean), vec![what]].concat(), vec![clean, all]);
    match &disturbed.without {
        Without::Untested => (headline(all), [details(all), vec![format!("{lead}.")]].concat(), vec![all]),
        Without::Same(same) => {
            clean(same, format!("{lead} and left out of all figures; with {them} the answer is the same."))
        }
        Without::Other(other) => {
            clean(other, format!("{lead} and left out of all figures, which changes the answer. {with_all}"))
        }
        Without::Selected { condition, why, clean } => {
            let (text, what) = selected(*why);
            let without =
                format!("{lead}. At {condition} {what}. Without {them} the answer is \"{}\"", headline(clean));
            (text.to_owned(), vec![without, with_all], vec![clean, all])
        }
        Without::TooFew => {
            let text = match disturbed.trials == disturbed.of {
                true => {
                    format!("all {} were disturbed; repeat this on a quieter machine.", count(disturbed.of, "trial"))
                }
                false => {
                    format!("{lead}, and not every condition has enough clean ones; repeat this on a quieter machine.")
                }
            };
            (text, vec![with_all], vec![all])
        }
    }
}

/// The first sentence when clean trials cannot support one, and how the result depends on disturbed trials.
fn selected(why: Selected) -> (&'static str, &'static str) {
    let slow = "slow trials were disturbed, and are slower than that explains, so clean ones are a biased selection; \
                repeat this on a quieter machine.";
    match why {
        Selected::Beyond => (
            slow,
            "disturbed trials are slower than every clean one, and by more than the CPU time of other programs \
             explains",
        ),
        Selected::OneBeyond => (
            slow,
            "a disturbed trial is slower than the CPU time of other programs explains, and further from the clean ones \
             than they are from each other",
        ),
        Selected::Near => (
            "only clean trials show a difference, and they may be a selection of the fast ones; repeat this on a \
             quieter machine.",
            "disturbed trials are worse than clean ones, by no more than clean ones differ among themselves: that may \
             be chance",
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tare_findings::verdict::Untested;

    #[test]
    fn a_headline_within_a_sentence_is_quoted() {
        let verdict = |attempts| Verdict::Untested(Untested::NoneOk { attempts, disturbed: 0 });
        let without = Without::Selected { condition: "a=1".to_owned(), why: Selected::Near, clean: verdict(2) };
        let disturbed = Some(Disturbed { trials: 1, of: 3, without });
        let (left_out, within, ended_early) = (Vec::new(), None, None);
        let answer = Answer { verdict: verdict(3), disturbed, is_rehearsal: false, left_out, within, ended_early };
        let of = |attempts| format!("the answer is \"No trial gave a usable result: {attempts} attempts");
        let details = AnswerJson::of(&answer).details;
        assert!(details[0].contains(&format!("Without it {}", of(2))), "{details:?}");
        assert!(details[1].starts_with(&format!("With all trials, disturbed or not, {}", of(3))), "{details:?}");
    }
}
