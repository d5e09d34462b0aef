//! Limits on the duration and the size of an answer: a server could send rows for ever.

use super::reservation::Reservation;
use crate::contract::session::RESULT_LIMIT;
use crate::{SqlError, SqlErrorKind};
use std::time::{Duration, Instant};

/// Rows and results (a power of two) between two checks of the clock, so that a measured statement needs none.
const LOOK_EVERY: u64 = 1 << 16;
/// Limit on the results of one statement: usually one, but procedures return several.
const RESULTS: u32 = 1_000;

/// Overhead of a memory allocation, bytes.
const ALLOCATION: usize = 24;
/// Kept rows are counted to the limit of all connections in steps of this size, bytes.
const STEP: usize = 1 << 20;

#[derive(Debug)]
pub(crate) struct AnswerLimits {
    limit: Option<Duration>,
    since: Option<Instant>,
    parts: u64,
    results: u32,
    bytes: usize,
    reserved: Reservation,
}

impl AnswerLimits {
    #[inline]
    pub(crate) fn of(limit: Option<Duration>) -> Self {
        Self { limit, since: None, parts: 0, results: 0, bytes: 0, reserved: Reservation::default() }
    }

    #[inline]
    pub(crate) fn part(&mut self) -> Result<(), SqlError> {
        self.parts += 1;
        if self.parts & (LOOK_EVERY - 1) == 0 { self.look() } else { Ok(()) }
    }

    pub(crate) fn result(&mut self) -> Result<(), SqlError> {
        self.results += 1;
        if self.results < RESULTS { Ok(()) } else { Err(refused(format!("more than {RESULTS} results"))) }
    }

    /// Counts a row that is kept, by the memory that it takes. That can be more than its size on the wire: NULLs,
    /// short values and invalid UTF-8 take more.
    pub(crate) fn kept(&mut self, row: &Vec<Option<String>>) -> Result<(), SqlError> {
        let text = |value: &Option<String>| value.as_ref().map_or(0, |text| text.capacity() + ALLOCATION);
        let values: usize = row.iter().map(text).sum();
        // The list of rows grows by doubling.
        self.bytes += values + row.capacity() * size_of::<Option<String>>() + ALLOCATION + 2 * size_of_val(row);
        if self.bytes > RESULT_LIMIT {
            return Err(refused(format!("a result of more than {} MiB", RESULT_LIMIT >> 20)));
        }
        if self.bytes > self.reserved.bytes() + STEP {
            self.reserved.set(self.bytes).map_err(refused)?;
        }
        self.part()
    }

    /// The clock runs from the first check on.
    #[cold]
    fn look(&mut self) -> Result<(), SqlError> {
        let now = Instant::now();
        let since = *self.since.get_or_insert(now);
        match self.limit {
            Some(limit) if now - since > limit => {
                Err(refused(format!("an answer that has not ended after {:.0} s", limit.as_secs_f64())))
            }
            _ => Ok(()),
        }
    }
}

/// The rest of the answer is still outstanding, so the session cannot be used any more.
#[cold]
fn refused(what: String) -> SqlError {
    SqlError::own(SqlErrorKind::Lost, format!("the server sent {what}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_of_endless_rows_is_aborted() {
        let mut limits = AnswerLimits::of(Some(Duration::ZERO));
        let error = (0..).find_map(|_| limits.part().err()).unwrap();
        assert!(limits.parts < 10 * LOOK_EVERY && error.message.contains("has not ended"), "{error}");
        let mut limits = AnswerLimits::of(None);
        let row = vec![Some("x".repeat(1000)), None, None];
        let (kept, error) = (0usize..).find_map(|number| limits.kept(&row).err().map(|e| (number, e))).unwrap();
        assert!(kept * 1000 < RESULT_LIMIT && error.message.contains("256 MiB"), "{error}");
        drop(limits);
        // NULLs without bytes on the wire take memory here.
        let mut limits = AnswerLimits::of(None);
        let nulls: Vec<Option<String>> = vec![None; 65_535];
        let kept = (0usize..).find(|_| limits.kept(&nulls).is_err()).unwrap();
        assert!(kept * size_of_val(nulls.as_slice()) <= RESULT_LIMIT, "{kept} rows");
        drop(limits);
        // All connections together.
        let full = || {
            let mut limits = AnswerLimits::of(None);
            (1..kept).try_for_each(|_| limits.kept(&nulls)).map(|()| limits)
        };
        let four: Vec<AnswerLimits> = (0..4).map(|_| full().unwrap()).collect();
        assert!(full().unwrap_err().message.contains("all connections together"));
        drop(four);
        assert!(full().is_ok());
        let mut limits = AnswerLimits::of(None);
        assert!((0..).find_map(|_| limits.result().err()).unwrap().message.contains("1000 results"));
    }
}
