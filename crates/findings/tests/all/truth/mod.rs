//! Measures the error rate of every claim that a command can make first: one row each with the nominal rate of wrong
//! claims and the measured one with its interval. `TARE_NULL_STUDIES` sets the number of studies of each kind;
//! `benches/truth` runs all of them.

/// Declares claims together with the list of all of them, so that none can be missing there.
macro_rules! listed {
    ($listed:ident { $($name:ident),* $(,)? }) => {
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
        enum $listed { $($name),* }

        impl $listed {
            const ALL: &[Self] = &[$(Self::$name),*];
        }
    };
}

mod claims;
mod disturbed;
mod made;
mod modes;
mod pairs;
mod sentences;
mod studies;

/// Number of studies of each kind, if set.
fn requested() -> Option<usize> {
    std::env::var("TARE_NULL_STUDIES").ok().and_then(|text| text.parse().ok())
}

/// Whether a row of the table is to be measured: all are, unless `TARE_SENTENCE` names one.
fn is_selected(sentence: &impl std::fmt::Debug) -> bool {
    std::env::var("TARE_SENTENCE").ok().is_none_or(|only| only == format!("{sentence:?}"))
}

#[derive(Debug, Clone, Copy)]
struct Rate {
    hits: usize,
    of: usize,
}

impl Rate {
    fn count(of: usize, mut holds: impl FnMut(usize) -> bool) -> Self {
        Self { hits: (0..of).filter(|i| holds(*i)).count(), of }
    }

    fn percent(self) -> f64 {
        100.0 * self.hits as f64 / self.of.max(1) as f64
    }

    /// 95% Wilson interval, in percent.
    fn wilson(self) -> (f64, f64) {
        self.within(1.96)
    }

    /// Wilson interval with `z` standard deviations, in percent.
    fn within(self, z: f64) -> (f64, f64) {
        let n = self.of as f64;
        let share = self.hits as f64 / n;
        let centre = share + z * z / (2.0 * n);
        let half = z * (share * (1.0 - share) / n + z * z / (4.0 * n * n)).sqrt();
        let percent = |v: f64| 100.0 * (v / (1.0 + z * z / n)).max(0.0);
        (percent(centre - half), percent(centre + half))
    }

    /// Prints a row of the table, and fails if the rate is shown to exceed the nominal one, in percent.
    fn hold(self, what: &str, promised: f64) {
        let (low, high) = self.wilson();
        let rate = self.percent();
        println!("| {what} | {promised} | {rate:.2} ({low:.2} to {high:.2}) | {} |", self.of);
        // There are a hundred rows: by chance alone one of them is two standard deviations above.
        assert!(
            self.within(3.0).0 <= promised,
            "{what}: {rate:.2}% ({low:.2} to {high:.2}), with a limit of {promised}%"
        );
    }
}
