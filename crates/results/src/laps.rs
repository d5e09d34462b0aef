//! Trials of many conditions as a race: in each block, every condition still in the race runs once.

use crate::blocks::{Failures, alike, headline, ran_two_programs, representing, spent_s, value};
use crate::looks::is_open;
use crate::metric::{self, Better};
use crate::rounding;
use crate::schema::{Plan, Race, TrialRecord};
use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet};
use tare_stats::racing::{Blocks, LOOKS, Standing, judge};
use tare_stats::ratio::Rounding;

/// Number of blocks after which the first candidates may be dropped.
pub const FIRST_LOOK: usize = LOOKS[0];

#[derive(Debug, Clone, Default, PartialEq)]
pub struct Laps {
    /// The compared metric; none as long as no trial has one.
    pub metric: Option<String>,
    /// Blocks whose trials have all ended: by candidate ln(metric), with the sign such that larger is better; none if a
    /// candidate did not take part, gave no value, or ran on another boot of the machine than most of its block.
    pub blocks: Vec<Vec<Option<f64>>>,
    /// For the same blocks, by candidate: whether its trial counts although it was disturbed, by the share of the time
    /// that was taken from it.
    pub marked: Vec<Vec<bool>>,
    /// For the same blocks, by candidate: whether an attempt of its trial failed, also if another one gave the value.
    pub failed: Vec<Vec<bool>>,
    /// For the same blocks, by candidate: the server of its trial, identified by the index of that server's first
    /// record.
    pub servers: Vec<Vec<usize>>,
    /// By candidate: what the rounding of the metric's values hides of their logarithm.
    pub hidden: Vec<Rounding>,
    pub trials: usize,
    /// How many of the trials have no value, because every attempt failed or for the boot on which they ran.
    pub without_value: usize,
    /// How many of the trials count although they were disturbed.
    pub disturbed: usize,
    pub elapsed_s: f64,
    /// The first candidate whose trials ran more than one program.
    pub replaced: Option<usize>,
    /// Whether planned trials are still to run: a race that was interrupted in a block is not over.
    open: bool,
    /// Total seconds and number of the trials on a server that was already warm.
    warm: (f64, usize),
}

/// The result of a look at the blocks so far.
#[derive(Debug, Clone, PartialEq)]
pub struct RaceLook {
    pub standing: Standing,
    /// Why no further block is run; none if one is.
    pub stop: Option<RaceStop>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum RaceStop {
    Decided,
    LastLook,
    Budget,
    /// No candidate with values is left.
    NoneLeft,
    /// The leader alone failed more often than by chance, and would be the result otherwise.
    FailsMore,
    /// A candidate ran two programs.
    Replaced,
}

impl Laps {
    /// The blocks of a plan whose trials have all ended. `other` replaces the race's own metric.
    pub fn of(plan: &Plan, race: &Race, records: &[TrialRecord], other: Option<&str>) -> Self {
        let requested = other.map(str::to_owned).or_else(|| race.metric.clone());
        let metric = requested.or_else(|| headline(records));
        let last: BTreeMap<usize, usize> = records.iter().enumerate().map(|(at, record)| (record.trial, at)).collect();
        let place: BTreeMap<&str, usize> = race.candidates.iter().enumerate().map(|(i, c)| (c.as_str(), i)).collect();
        let elapsed_s = spent_s(records.iter());
        let is_warm = |record: &&TrialRecord| record.lifetime.as_ref().is_some_and(|lifetime| lifetime.place > 0);
        let warm = (spent_s(records.iter().filter(is_warm)), records.iter().filter(is_warm).count());
        let (servers, failures) = (servers(records), Failures::of(records));
        let mut laps = Self { metric, elapsed_s, warm, open: is_open(plan, records), ..Self::default() };
        laps.replaced = race.candidates.iter().position(|own| ran_two_programs(records, |name| name == own));
        let (sign, name) = (laps.sign(), laps.metric.clone().unwrap_or_default());
        let mut samples = vec![Vec::new(); race.candidates.len()];
        for planned in plan.blocks().into_values() {
            let mut block = vec![None; race.candidates.len()];
            let (mut marked, mut failed) = (vec![false; block.len()], vec![false; block.len()]);
            let mut of_block: Vec<usize> = vec![usize::MAX; block.len()];
            let (mut counting, mut who) = (Vec::new(), Vec::new());
            if !planned.iter().all(|trial| last.contains_key(&trial.trial)) {
                break;
            }
            let ended = planned.iter().map(|trial| &records[last[&trial.trial]]);
            let boot = boot_of_most(ended.filter(|record| value(record, Some(&name)).is_some()));
            for trial in planned {
                let Some(i) = place.get(trial.condition.as_str()) else { continue };
                laps.trials += 1;
                let record = &records[last[&trial.trial]];
                of_block[*i] = servers[last[&trial.trial]];
                failed[*i] = failures.has(record, Some(&name));
                match value(record, Some(&name)).filter(|_| boot_of(record) == boot) {
                    Some(value) => {
                        block[*i] = Some(sign * value.ln());
                        samples[*i].push(representing(record, &name));
                        counting.push(record);
                        who.push(*i);
                    }
                    None => laps.without_value += 1,
                }
            }
            laps.disturbed += counting.iter().filter(|record| record.reason.is_some()).count();
            who.into_iter().zip(alike(&counting)).for_each(|(i, is_disturbed)| marked[i] = is_disturbed);
            laps.blocks.push(block);
            laps.marked.push(marked);
            laps.failed.push(failed);
            laps.servers.push(of_block);
        }
        laps.hidden = rounding::of_logarithms(laps.metric.as_deref(), &samples);
        laps
    }

    /// The blocks in the form that the test takes.
    pub fn blocks(&self) -> Blocks<'_> {
        Blocks {
            values: &self.blocks,
            disturbed: &self.marked,
            failed: &self.failed,
            servers: &self.servers,
            hidden: &self.hidden,
        }
    }

    /// The decision by the rule of a race; none if the values are not valid for the test. If its time is over, the next
    /// look is taken now.
    pub fn decided(&self, race: &Race) -> Option<RaceLook> {
        let look = |early: &[usize]| self.standing(self.blocks(), race, early);
        let standing = look(&race.early_looks)?;
        if self.replaced.is_some() {
            let standing = Standing { decided: false, ..standing };
            return Some(RaceLook { standing, stop: Some(RaceStop::Replaced) });
        }
        match self.stop(race, &standing) {
            Some(RaceStop::Budget) => {
                let early = [&race.early_looks[..], &[self.blocks.len()]].concat();
                let standing = look(&early)?;
                let stop = self.end(race, &standing, &early).unwrap_or(RaceStop::Budget);
                Some(RaceLook { standing, stop: Some(stop) })
            }
            stop => Some(RaceLook { standing, stop }),
        }
    }

    fn standing(&self, blocks: Blocks<'_>, race: &Race, early: &[usize]) -> Option<Standing> {
        judge(blocks, race.candidates.len(), &race.question(), early).ok()
    }

    /// Why no further block is run.
    fn stop(&self, race: &Race, standing: &Standing) -> Option<RaceStop> {
        let is_over = |budget_s: &f64| self.elapsed_s + self.next_s(&standing.left()) > *budget_s;
        let ended = self.end(race, standing, &race.early_looks);
        ended.or_else(|| race.budget_s.filter(|s| !self.open && is_over(s)).map(|_| RaceStop::Budget))
    }

    /// Why more time would add no block.
    fn end(&self, race: &Race, standing: &Standing, early: &[usize]) -> Option<RaceStop> {
        if standing.decided {
            return Some(RaceStop::Decided);
        }
        if self.is_withheld(race, standing, early) {
            return Some(RaceStop::FailsMore);
        }
        if standing.left().is_empty() && !self.blocks.is_empty() {
            return Some(RaceStop::NoneLeft);
        }
        standing.looks.last().filter(|last| self.blocks.len() >= **last).map(|_| RaceStop::LastLook)
    }

    /// Whether the leader fails more often than another candidate that remains, and would be the result otherwise: more
    /// blocks bring no verdict.
    fn is_withheld(&self, race: &Race, standing: &Standing, early: &[usize]) -> bool {
        let fails = standing.leader.filter(|leader| standing.fails_more[*leader]);
        let freely = || self.standing(Blocks { failed: &[], ..self.blocks() }, race, early);
        fails.is_some_and(|leader| freely().is_some_and(|found| found.decided && found.leader == Some(leader)))
    }

    /// Geometric mean of a candidate's undisturbed values, or of all if there are none, in the metric's unit; none
    /// without a value.
    pub fn mean_of(&self, candidate: usize) -> Option<f64> {
        let all = || self.blocks.iter().zip(&self.marked).map(|(block, marked)| (block[candidate], marked[candidate]));
        let clean: Vec<f64> = all().filter(|(_, marked)| !marked).filter_map(|(value, _)| value).collect();
        let values = if clean.is_empty() { all().filter_map(|(value, _)| value).collect() } else { clean };
        tare_stats::descriptive::mean(&values).map(|mean| (self.sign() * mean).exp())
    }

    pub fn is_higher_better(&self) -> bool {
        self.metric.as_deref().is_none_or(|name| metric::describe(name).better == Better::Higher)
    }

    /// The sign that makes larger values of ln(metric) better.
    fn sign(&self) -> f64 {
        if self.is_higher_better() { 1.0 } else { -1.0 }
    }

    /// Expected seconds of a block of these candidates: the first trial on a server includes start and warm-up.
    fn next_s(&self, left: &[usize]) -> f64 {
        let (warm_s, warm) = self.warm;
        let Some(last) = self.servers.last().filter(|_| warm > 0) else { return self.trial_s() * left.len() as f64 };
        let first_s = (self.elapsed_s - warm_s) / self.trials.saturating_sub(warm).max(1) as f64;
        let servers: BTreeSet<usize> = left.iter().map(|candidate| last[*candidate]).collect();
        first_s * servers.len() as f64 + warm_s / warm as f64 * left.len().saturating_sub(servers.len()) as f64
    }

    /// Mean seconds of a trial with all its attempts.
    pub fn trial_s(&self) -> f64 {
        self.elapsed_s / self.trials.max(1) as f64
    }
}

fn boot_of(record: &TrialRecord) -> Option<&str> {
    record.ran_on.as_ref()?.boot_id.as_deref()
}

/// The boot on which most of these trials ran: a difference between two boots is not one of candidates.
fn boot_of_most<'r>(records: impl Iterator<Item = &'r TrialRecord>) -> Option<&'r str> {
    let mut trials: BTreeMap<Option<&str>, usize> = BTreeMap::new();
    records.for_each(|record| *trials.entry(boot_of(record)).or_default() += 1);
    trials.into_iter().max_by_key(|(_, trials)| *trials)?.0
}

/// The server of each record, identified by the index of its first record: a server starts with the first rung of a
/// lifetime, and again after a rung failed.
fn servers(records: &[TrialRecord]) -> Vec<usize> {
    let mut begun: BTreeMap<usize, usize> = BTreeMap::new();
    let of = |(at, record): (usize, &TrialRecord)| match &record.lifetime {
        None => at,
        Some(lifetime) if lifetime.place == 0 => {
            begun.insert(lifetime.number, at);
            at
        }
        Some(lifetime) => *begun.entry(lifetime.number).or_insert(at),
    };
    records.iter().enumerate().map(of).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::schema::{PlannedTrial, RanOn, SampleRecord};
    use tare_stats::racing::Question;

    #[test]
    fn a_block_holds_only_trials_of_the_boot_on_which_most_of_it_ran() {
        let conditions = ["a", "b", "c"];
        let planned = |trial: usize| PlannedTrial {
            trial,
            block: trial / 3,
            condition: conditions[trial % 3].to_owned(),
            lifetime: None,
        };
        let plan = Plan { trials: (0..6).map(planned).collect(), ..Plan::default() };
        let record = |(trial, boot): (&PlannedTrial, &str)| {
            let ran_on = Some(RanOn { host: "h".to_owned(), boot_id: Some(boot.to_owned()) });
            let metrics = [("tps".to_owned(), 100.0)].into();
            let samples = vec![SampleRecord { metrics, ..SampleRecord::default() }];
            TrialRecord { ran_on, samples, ..TrialRecord::new(trial, 1, BTreeMap::new(), String::new()) }
        };
        // The machine was restarted after the second trial of the first block and after the first one of the second.
        let records: Vec<TrialRecord> = plan.trials.iter().zip(["x", "x", "y", "y", "z", "z"]).map(record).collect();
        let question = Question { minimum_effect: 0.02, alpha: 0.05 };
        let race = Race::of(conditions.map(str::to_owned).to_vec(), question, 1);
        let laps = Laps::of(&plan, &race, &records, None);
        let counts = |block: &Vec<Option<f64>>| block.iter().map(Option::is_some).collect::<Vec<_>>();
        let found: Vec<Vec<bool>> = laps.blocks.iter().map(counts).collect();
        assert_eq!(found, [[true, true, false], [false, true, true]]);
        assert_eq!((laps.trials, laps.without_value), (6, 2));
    }
}
