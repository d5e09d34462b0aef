//! Pairs of trials of two builds: a results directory for each two, to which pairs are added.

use super::super::ab_plan::pair_line;
use super::super::ab_sides;
use super::super::rounds::RoundListener;
use super::super::run::{Teller, begun_before, begun_in, execute, room_for_data, unless_interrupted};
use super::super::{Exit, Problem, ab_together, plan_view, study_file, trust};
use super::asked::BisectRequest;
use std::path::{Path, PathBuf};
use tare_files::Folder;
use tare_findings::ab::Ab;
use tare_findings::bisect::ALPHA;
use tare_results::pairs::{Pairs, Rule};
use tare_results::schema::{Outcome, Plan, Settle, TrialRecord, Turns};
use tare_results::store::{Directory, read_plan, read_trials, write_plan};
use tare_study::language::spec::Study;
use tare_study::plan::resolve::Where;
use tare_study::plan::settle;
use tare_topology::Machine;

const PAIRS: &str = "pairs";

/// Two builds of the line, and what their pairs are for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Two {
    /// Place in the line of the build that is A, from 0.
    pub a: usize,
    /// Place in the line of the build that is B, after that of A.
    pub b: usize,
    /// Whether they are what was found, measured once more in pairs of their own.
    pub step: bool,
}

impl Two {
    /// Where their pairs lie in a bisection's folder.
    pub fn folder(self, of: &Path) -> PathBuf {
        of.join(PAIRS).join(self.name())
    }

    fn name(self) -> String {
        format!("{:04}-{:04}{}", self.a, self.b, if self.step { "-step" } else { "" })
    }
}

#[derive(Debug, Clone, Copy)]
pub enum Until {
    /// Settled by a rule, or out of time (seconds).
    Settled(Rule, Option<f64>),
    More(usize),
}

pub struct Measured {
    /// The builds by their places, and what their pairs are for.
    pub two: Two,
    /// Their results directory, which `tare show` and `tare compare` read.
    pub path: PathBuf,
    plan: Plan,
    records: Vec<TrialRecord>,
    rule: Settle,
}

impl Measured {
    /// Pairs whose trials have all ended, lost and disturbed ones counted apart.
    pub fn pairs(&self) -> Pairs {
        Pairs::of(&self.plan, &self.rule, &self.records)
    }

    /// What they say, where it was to be settled.
    pub fn ab(&self) -> Option<Ab> {
        Ab::of(&self.plan, &self.records)
    }

    /// The place of the build of which more trials failed; none where none did.
    pub fn failing(&self) -> Option<usize> {
        let failed = |name: &str| {
            self.records.iter().filter(|record| record.condition == name && record.outcome == Outcome::Failed).count()
        };
        let [of_a, of_b] = [failed(&self.rule.a), failed(&self.rule.b)];
        (of_a + of_b > 0).then_some(if of_a > of_b { self.two.a } else { self.two.b })
    }
}

/// Everything that pairs of two builds need to be planned and run.
pub struct Bench<'a> {
    /// Study, sides and rule come from it.
    pub asked: &'a BisectRequest,
    /// Results directories are made below it.
    pub folder: &'a Folder,
    /// Every plan is made for it.
    pub machine: &'a Machine,
    /// Notes go there, and whether others' folders are trusted is said by it.
    pub teller: &'a Teller,
}

impl Bench<'_> {
    /// All pairs so far, in the order of their builds.
    pub fn all(&self) -> Result<Vec<Measured>, Problem> {
        let mut names: Vec<String> = match std::fs::read_dir(self.folder.path().join(PAIRS)) {
            Ok(entries) => entries.flatten().filter_map(|entry| entry.file_name().into_string().ok()).collect(),
            Err(_) => Vec::new(),
        };
        names.sort();
        names.iter().filter_map(|name| two(name)).filter_map(|two| self.read(two).transpose()).collect()
    }

    /// Those of two builds; none where there are none yet.
    pub fn read(&self, two: Two) -> Result<Option<Measured>, Problem> {
        let path = two.folder(self.folder.path());
        if !path.join("plan.json").exists() {
            return Ok(None);
        }
        let begun = Directory::begun(&path, trust::whose(self.teller.trusted))?;
        let (plan, records) = (read_plan(&begun)?, read_trials(&begun)?);
        let rule = self.rule(&plan, two, Until::More(0))?;
        Ok(Some(Measured { two, path, plan, records, rule }))
    }

    /// Adds pairs of two built programs. False when interrupted.
    pub fn measure(&self, two: Two, programs: [&Path; 2], until: Until) -> Result<bool, Problem> {
        let Some((study, plan, directory)) = self.begin_or_go_on(two, programs, until)? else { return Ok(false) };
        let end =
            execute(&study, &plan, &directory, self.teller, &mut RoundListener::new(pair_line)).map_err(|problem| {
                let resume = format!("then go on with: tare bisect --resume {}", self.folder.path().display());
                problem.advice(format!("see {}/logs; {resume}", directory.path().display()))
            })?;
        Ok(end.left == 0)
    }

    fn begin_or_go_on(
        &self,
        two: Two,
        programs: [&Path; 2],
        until: Until,
    ) -> Result<Option<(Study, Plan, Directory)>, Problem> {
        let path = two.folder(self.folder.path());
        if path.join("plan.json").exists() {
            let directory = Directory::resume(&path, trust::whose(self.teller.trusted))?;
            let (study, mut plan) = begun_before(&directory)?;
            if let Until::More(more) = until {
                let rule = self.rule(&plan, two, until)?;
                let ended = Pairs::of(&plan, &rule, &read_trials(directory.folder())?).ended();
                plan = settle::scheduled(plan, &rule, ended + more);
                write_plan(directory.folder(), &plan)?;
            }
            return Ok(Some((study, plan, directory)));
        }
        let study = self.asked.study_of(programs[0], programs[1], self.teller.trusted)?;
        let planned = unless_interrupted(study_file::planned(study, self.machine, Where::Here, true))?;
        let Some((mut study, mut plan)) = planned else { return Ok(None) };
        let rule = self.rule(&plan, two, until)?;
        // As the first pairs were made.
        let asked = self.all()?.first().map(|before| before.plan.turns.is_some());
        let on = (self.machine, Where::Here);
        let take_turns = ab_together::settle_turns(asked.or(self.asked.interleave), &mut study, &mut plan, on)?;
        plan.turns = take_turns.then_some(Turns { seed: rule.seed });
        room_for_data(&plan)?;
        if asked.is_none() && !self.teller.json {
            plan_view::print_notes(&plan);
        }
        plan = match until {
            Until::Settled(..) => settle::begun(plan, rule),
            Until::More(more) => {
                plan.trials.clear();
                settle::scheduled(plan, &rule, more)
            }
        };
        // A kill before its plan was written leaves a folder with nothing that counts.
        let _ = self.folder.make_sub(PAIRS)?.remove_all(&two.name());
        let directory = begun_in(&path, &study, &plan, self.machine, self.teller.trusted)?;
        Ok(Some((study, plan, directory)))
    }

    fn rule(&self, plan: &Plan, two: Two, until: Until) -> Result<Settle, Problem> {
        let sides = ab_sides::conditions(plan)?;
        let (rule, budget_s) = match until {
            Until::Settled(rule, budget_s) => (rule, budget_s),
            Until::More(_) => (Rule::Anytime, None),
        };
        // The side that runs first is drawn anew for every two builds.
        let seed = self.asked.seed ^ ((two.a as u64) << 32 | (two.b as u64) << 1 | u64::from(two.step));
        Ok(Settle {
            metric: self.asked.metric.clone(),
            minimum_effect: self.asked.minimum_effect,
            alpha: ALPHA,
            budget_s,
            ..Settle::between(sides, rule, seed)
        })
    }
}

/// The builds that a folder is named by.
fn two(name: &str) -> Option<Two> {
    let (name, step) = name.strip_suffix("-step").map_or((name, false), |name| (name, true));
    let (a, b) = name.split_once('-')?;
    Some(Two { a: a.parse().ok()?, b: b.parse().ok()?, step })
}

/// Refuses what cannot be measured at all.
pub fn with_result(ends: &Measured) -> Result<(), Problem> {
    let pairs = ends.pairs();
    match pairs.measured.is_empty() && pairs.lost > 0 {
        false => Ok(()),
        true => Err(Problem::new(Exit::TrialFailed, "no pair of GOOD and BAD has a result: trials failed for good")
            .at(ends.path.join("trials.jsonl").display().to_string())
            .advice(format!("read the reasons with: tare show {}", ends.path.display()))),
    }
}
