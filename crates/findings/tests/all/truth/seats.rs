//! Modes whose cause was not recorded, and how often the seats of threads or a covariate are named as their cause.

use crate::draws::Draws;
use crate::modes::{ARTICLE_A, seated, summary, summary_of_drawn_seats};
use tare_findings::summary::Summary;
use tare_stats::order::randomized_blocks;

/// Who chooses the seats of threads.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Seats {
    /// tare, at random for each trial.
    Drawn,
    /// The system, whose choice follows states of the machine that have nothing to do with those of the modes.
    OfTheSystem,
}

/// How states come in the order of the run.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum States {
    Random,
    /// Four of five trials are in the state of the trial before, the others in a random one.
    Lasting,
    /// At first hardly any trial is in the second state, at the end almost all.
    Drifting,
}

pub const SEATS: [Seats; 2] = [Seats::Drawn, Seats::OfTheSystem];
pub const STATES: [States; 3] = [States::Random, States::Lasting, States::Drifting];

const TRIALS: usize = 24;

impl States {
    fn draw(self, draws: &mut Draws) -> Vec<bool> {
        let mut before = draws.coin();
        let mut next = |i: usize| {
            before = match self {
                Self::Random => draws.coin(),
                Self::Lasting if draws.uniform() < 0.8 => before,
                Self::Lasting => draws.coin(),
                Self::Drifting => draws.uniform() < 0.1 + 0.8 * i as f64 / TRIALS as f64,
            };
            before
        };
        (0..TRIALS).map(&mut next).collect()
    }
}

/// Four pairs whose clients are on two nodes; without a draw most pairs are on one PU in one state of the system.
const CLIENTS: [u32; 4] = [0, 4, 12, 16];

fn seats(draws: &mut Draws, seats: Seats, near: bool) -> Vec<(u32, u32)> {
    let order = randomized_blocks(CLIENTS.len(), 1, draws.uniform().to_bits()).remove(0);
    let mut one = |(pair, drawn): (usize, usize)| {
        let server = match seats {
            Seats::Drawn => CLIENTS[drawn],
            Seats::OfTheSystem if near == (draws.uniform() < 0.9) => CLIENTS[pair],
            Seats::OfTheSystem => CLIENTS[(pair + 2) % 4],
        };
        (CLIENTS[pair], server)
    };
    order.into_iter().enumerate().map(&mut one).collect()
}

/// Whether a cause is named for modes that follow states of the machine: the seats, or a covariate that has states of
/// its own.
pub fn cause_of_modes(draws: &mut Draws, of: Seats, states: States) -> bool {
    let [fast, near, busy] = std::array::from_fn(|_| states.draw(draws));
    let mut one = |i: usize| {
        let mode = if fast[i] { 37_000.0 } else { 24_000.0 };
        let seats = seats(draws, of, near[i]);
        let mut record = seated(i, mode * (0.01 * draws.normal()).exp(), &seats);
        let steal = 0.01 * (1.0 + f64::from(u8::from(busy[i])) + 0.1 * draws.normal());
        record.samples[0].covariates.insert("steal_fraction".to_owned(), steal);
        record
    };
    let trials = (0..TRIALS).map(&mut one).collect();
    let found: Summary = match of {
        Seats::Drawn => summary_of_drawn_seats(ARTICLE_A, trials),
        Seats::OfTheSystem => summary(ARTICLE_A, trials),
    };
    found.conditions[0].metrics.iter().any(|metric| metric.mode_cause.is_some())
}
