//! How far the filling of tables is, in words: on a terminal, or as a line from time to time.

use tare_drive::workload::Filled;
use tare_text::percent;

/// Seconds between two lines of a run.
const EVERY_S: u64 = 10;

/// Added rows, and their share if the final number is known.
pub(crate) fn rows(added: u64, of: Option<u64>) -> String {
    match of.filter(|of| *of >= added && *of > 0) {
        Some(of) => format!("{added} of {of} rows ({})", percent(added as f64 / of as f64)),
        None => format!("{added} rows"),
    }
}

/// Programs that fill tables do not report rows.
fn added(filled: &Filled) -> String {
    if filled.rows == 0 { String::new() } else { format!(": {}", rows(filled.rows, filled.of)) }
}

/// The step of a trial, for a line that is overwritten.
pub(crate) fn step(filled: &Filled) -> String {
    format!("filling tables{}", added(filled))
}

/// Chooses the reports that become lines, where lines are kept.
#[derive(Debug, Default)]
pub(crate) struct FillLines {
    next_s: u64,
}

impl FillLines {
    /// Other tables are filled from now on.
    pub(crate) fn begin(&mut self) {
        self.next_s = 0;
    }

    /// A line for the first report, then one every 10 seconds.
    pub(crate) fn line(&mut self, filled: &Filled) -> Option<String> {
        let Filled { seconds, of, .. } = *filled;
        if seconds < self.next_s {
            return None;
        }
        self.next_s = seconds + EVERY_S;
        let all = of.map_or_else(String::new, |of| format!(": {of} rows"));
        Some(if seconds == 0 { format!("filling tables{all}") } else { format!("{} after {seconds} s", step(filled)) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_percentage_is_printed_only_if_the_total_is_known() {
        assert_eq!(rows(500, None), "500 rows");
        assert_eq!(rows(500, Some(400)), "500 rows");
        assert_eq!(rows(500, Some(1000)), "500 of 1000 rows (50%)");
    }

    #[test]
    fn lines_that_are_kept_come_first_at_once_and_then_every_ten_seconds() {
        let mut lines = FillLines::default();
        let reports = |of: Option<u64>| (0..25).map(move |seconds| Filled { rows: 10 * seconds, of, seconds });
        let printed: Vec<String> = reports(Some(1000)).filter_map(|filled| lines.line(&filled)).collect();
        let expected = [
            "filling tables: 1000 rows",
            "filling tables: 100 of 1000 rows (10%) after 10 s",
            "filling tables: 200 of 1000 rows (20%) after 20 s",
        ];
        assert_eq!(printed, expected);
        lines.begin();
        let of_programs = reports(None).map(|filled| Filled { rows: 0, ..filled });
        let printed: Vec<String> = of_programs.filter_map(|filled| lines.line(&filled)).collect();
        assert_eq!(printed, ["filling tables", "filling tables after 10 s", "filling tables after 20 s"]);
    }
}
