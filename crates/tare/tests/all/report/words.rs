//! A summary with the texts that every report shows.

use crate::report::fake;
use std::ops::Deref;
use tare_findings::summary::Summary;
use tare_report::words::{self, AnswerJson};
use tare_results::Results;

/// The summary, its answer as text, and all further sentences.
pub struct SummaryInWords {
    pub summary: Summary,
    pub answer: AnswerJson,
    pub reading: String,
    pub further_reading: Vec<String>,
    pub warnings: Vec<String>,
}

impl Deref for SummaryInWords {
    type Target = Summary;

    fn deref(&self) -> &Summary {
        &self.summary
    }
}

pub fn summarize(results: &Results) -> SummaryInWords {
    let summary = tare_findings::summarize(results);
    let answer = AnswerJson::of(&summary.answer);
    SummaryInWords {
        reading: answer.text.clone(),
        answer,
        further_reading: words::further(&summary, results),
        warnings: words::warnings(&summary, results),
        summary,
    }
}

pub fn summary_of_csv(rows: &str) -> SummaryInWords {
    summarize(&fake::csv(rows))
}
