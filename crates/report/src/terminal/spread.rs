//! The spread of each condition over several queries, and the sources of the spread between restarts.

use super::rows::{table, titled};
use super::style::Style;
use super::text::plain;
use crate::figures::{chance, times};
use crate::tables;
use crate::words::between;
use crate::words::find::shown_interval;
use tare_findings::condition::{ConditionSummary, Spread};
use tare_findings::effects::Effect;
use tare_findings::spread::SpreadSource;
use tare_findings::summary::Summary;
use tare_text::percent;

/// The table of ["Improving the Stability of MySQL Single-Threaded
/// Benchmarks"](https://oysteing.blogspot.com/2017/01/): average and largest spread over the queries, the smallest
/// average first.
pub(super) fn spread(summary: &Summary, style: Style) -> Option<String> {
    let mut rows = tables::spreads(summary);
    let metrics = rows.first()?.1.metrics;
    let heads = ["condition", "max-min", "largest", "of", "between", "largest", "within", "largest"];
    let cov = |cov: Option<f64>| cov.map_or("-".to_owned(), percent);
    let hidden = style.shorten(&mut rows);
    let row = |(condition, spread): (&ConditionSummary, &Spread)| {
        vec![
            plain(&condition.name),
            percent(spread.range_average),
            percent(spread.range_largest),
            plain(&spread.range_largest_metric),
            percent(spread.between_cov_average),
            percent(spread.between_cov_largest),
            cov(spread.within_cov_average),
            cov(spread.within_cov_largest),
        ]
    };
    let rows: Vec<Vec<String>> = rows.into_iter().map(row).collect();
    let head =
        format!("spread over {metrics} metrics, average and largest (max-min: of trial means, over the smallest)");
    Some(titled(style, &head, &(table(style, &heads, 1, &rows) + &left_out(hidden))))
}

/// A line with the number of rows that a long table does not show; empty if it shows all.
pub(super) fn left_out(rows: usize) -> String {
    if rows == 0 { String::new() } else { format!("  ... {rows} rows between them: tare show RESULTS --all\n") }
}

/// Every factor as a source of the variance between trials.
pub(super) fn sources(summary: &Summary, style: Style) -> Option<String> {
    let sources = summary.spread_sources.as_ref()?;
    let row = |source: &SpreadSource| {
        // If effects are listed too, both tables use the same order of levels.
        let is_listed = |effect: &Effect| effect.term.main() == Some(&source.term);
        let (levels, ratio, ci) = if !source.noisy_is_high && summary.effects.iter().any(is_listed) {
            let reversed = format!("{}/{}", source.quiet_level, source.noisy_level);
            (reversed, 1.0 / source.spread_ratio, source.spread_ci.map(|ci| ci.map(|end| 1.0 / end)))
        } else {
            let levels = format!("{}/{}", source.noisy_level, source.quiet_level);
            (levels, source.spread_ratio, source.spread_ci)
        };
        vec![
            plain(&source.term.factor()),
            plain(&levels),
            times(ratio),
            between(shown_interval(ci), "-", times),
            if source.shown { percent(source.share) } else { "not shown".to_owned() },
            chance(source.p_value),
        ]
    };
    let unexplained = ["unexplained", "", "", "", &percent(sources.unexplained), ""].map(str::to_owned).to_vec();
    let heads = ["factor", "levels", "spread", "95% interval", "share", "p"];
    let head = "what makes restarts differ (spread: ratio of the CoVs, first level to second, over all metrics)";
    let rows: Vec<Vec<String>> = sources.ranking.iter().map(row).chain([unexplained]).collect();
    Some(titled(style, head, &table(style, &heads, 2, &rows)))
}
