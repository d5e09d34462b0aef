//! The first line of every report.

use super::sentence::Sentence;
use super::verdict::sentence;
use serde::Serialize;
use tare_findings::verdict::{Answer, Disturbed, Without};

/// The answer as `--json` has it.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct AnswerJson {
    /// One or two sentences.
    pub text: String,
    /// Whether it says something that was tested: all that one study says together, see `confidence`.
    pub tested: bool,
    /// Whether trials that count although disturbed are among those it rests on.
    pub disturbed: bool,
}

impl AnswerJson {
    /// The answer in words.
    pub fn of(answer: &Answer) -> Self {
        let said = match &answer.disturbed {
            None => sentence(&answer.verdict),
            Some(disturbed) => Sentence::ours(confirmed(answer, disturbed)),
        };
        let text = match answer.is_rehearsal {
            true => format!("A rehearsal (--quick), too short to rely on: {}", said.behind()),
            false => said.alone(),
        };
        Self { text, tested: answer.verdict.is_tested(), disturbed: answer.disturbed.is_some() }
    }
}

/// What rests on disturbed trials says so first; what changes without them is not claimed.
fn confirmed(answer: &Answer, disturbed: &Disturbed) -> String {
    let lead = format!("{} of {} trials were disturbed", disturbed.trials, disturbed.of);
    let with = sentence(&answer.verdict);
    match &disturbed.without {
        Without::Untested => format!("{lead}. {}", with.alone()),
        Without::Same(_) => format!("{lead}; without them it comes out the same. {}", with.alone()),
        Without::Other(again) => {
            format!("{lead}, and they decide: with them {} Without them {}", with.behind(), sentence(again).behind())
        }
        Without::TooFew => format!(
            "{lead}, and too few clean ones are left to do without them: inconclusive until a quieter machine repeats \
             it. With them {}",
            with.behind()
        ),
    }
}
