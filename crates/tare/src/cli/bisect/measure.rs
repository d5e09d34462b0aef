//! Pairs of trials of two builds: each combination of two builds has a results directory, to which pairs are added.

use super::super::ab_sides::{self, pair_line};
use super::super::execution::{RunOptions, begun_at, begun_in, execute, room_for_data};
use super::super::interrupt::unless_interrupted;
use super::super::output::{note, quoted_path};
use super::super::run_listener::RoundListener;
use super::super::{Exit, Problem, ab_result, ab_together, plan_view, study_file, trust};
use super::request::BisectRequest;
use std::path::{Path, PathBuf};
use tare_files::Folder;
use tare_findings::ab::Ab;
use tare_findings::bisect::ALPHA;
use tare_findings::certificate::Certified;
use tare_results::pairs::{Pairs, Rule};
use tare_results::schema::{Outcome, Plan, Settle, TrialRecord, Turns};
use tare_results::store::{Directory, read_plan, read_trials, write_plan};
use tare_study::language::spec::Study;
use tare_study::plan::resolve::Where;
use tare_study::plan::settle;
use tare_topology::Machine;

const PAIRS: &str = "pairs";

/// Two builds of the line, and the purpose of their pairs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Two {
    /// Index of build A in the line, from 0.
    pub a: usize,
    /// Index of build B in the line, after that of A.
    pub b: usize,
    /// Whether these pairs confirm the commit that was found; they are kept apart from the others.
    pub step: bool,
}

impl Two {
    /// The results directory of these pairs in a bisection's directory.
    pub fn folder(self, of: &Path) -> PathBuf {
        of.join(PAIRS).join(self.name())
    }

    fn name(self) -> String {
        format!("{:04}-{:04}{}", self.a, self.b, if self.step { "-step" } else { "" })
    }
}

#[derive(Debug, Clone, Copy)]
pub enum Until {
    /// Until it is decided, or the time of these pairs (seconds) is over.
    Settled(Option<f64>),
    More(usize),
}

pub struct Measured {
    /// The builds by index, and the purpose of their pairs.
    pub two: Two,
    /// The results directory, which `tare show` and `tare compare` read.
    pub path: PathBuf,
    plan: Plan,
    records: Vec<TrialRecord>,
    rule: Settle,
    /// What the machine's certificates say about the comparison.
    pub certified: Option<Certified>,
}

impl Measured {
    /// Pairs whose trials have all ended; lost and disturbed ones are counted separately.
    pub fn pairs(&self) -> Pairs {
        Pairs::of(&self.plan, &self.rule, &self.records)
    }

    /// The verdict, if the pairs were to be decided by a rule.
    pub fn ab(&self) -> Option<Ab> {
        Ab::of(&self.plan, &self.records)
    }

    /// The index of the build with more failed trials; `None` if none failed.
    pub fn failing(&self) -> Option<usize> {
        let failed = |name: &str| {
            self.records.iter().filter(|record| record.condition == name && record.outcome == Outcome::Failed).count()
        };
        let [of_a, of_b] = [failed(&self.rule.a), failed(&self.rule.b)];
        (of_a + of_b > 0).then_some(if of_a > of_b { self.two.a } else { self.two.b })
    }
}

/// Everything that is needed to plan and run pairs of two builds.
pub struct Bench<'a> {
    /// Provides study, sides and rule.
    pub request: &'a BisectRequest,
    /// The directory that holds the results directories.
    pub folder: &'a Folder,
    /// The machine that every plan is made for.
    pub machine: &'a Machine,
    /// Prints notes, and says whether directories of other users are trusted.
    pub options: &'a RunOptions,
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

    /// The pairs of two builds; `None` if there are none yet.
    pub fn read(&self, two: Two) -> Result<Option<Measured>, Problem> {
        let path = two.folder(self.folder.path());
        if !path.join("plan.json").exists() {
            return Ok(None);
        }
        let begun = Directory::begun(&path, trust::whose(self.options.trusted))?;
        let (plan, records) = (read_plan(&begun)?, read_trials(&begun)?);
        let rule = self.rule(&plan, two, Until::More(0))?;
        Ok(Some(Measured { two, path, plan, records, rule, certified: ab_result::stored_certificate(&begun) }))
    }

    /// Adds pairs of two built programs. Returns false when interrupted.
    pub fn measure(&self, two: Two, programs: [&Path; 2], until: Until) -> Result<bool, Problem> {
        let Some((study, plan, directory)) = self.begin_or_go_on(two, programs, until)? else { return Ok(false) };
        let end = execute(&study, &plan, &directory, self.options, &mut RoundListener::new(pair_line)).map_err(
            |problem| {
                let resume = format!("then resume with: tare bisect --resume {}", quoted_path(self.folder.path()));
                problem.advice(format!("see {}/logs; {resume}", directory.path().display()))
            },
        )?;
        let (plan, records) = (read_plan(directory.folder())?, read_trials(directory.folder())?);
        let metric = Ab::of(&plan, &records).and_then(|ab| ab.metric);
        let certified = ab_result::certified(&study, &plan, metric.as_deref());
        if let Some(why) = ab_result::store_certificate(certified.as_ref(), &directory) {
            note(&why);
        }
        Ok(end.left == 0)
    }

    fn begin_or_go_on(
        &self,
        two: Two,
        programs: [&Path; 2],
        until: Until,
    ) -> Result<Option<(Study, Plan, Directory)>, Problem> {
        let path = two.folder(self.folder.path());
        if let Some((study, mut plan, directory)) = begun_at(&path, self.options.trusted)? {
            match until {
                Until::More(more) => {
                    let rule = self.rule(&plan, two, until)?;
                    let ended = Pairs::of(&plan, &rule, &read_trials(directory.folder())?).ended();
                    plan = settle::scheduled(plan, &rule, ended + more);
                }
                // Looks planned for a budget, as an earlier version did, allow no others.
                Until::Settled(budget_s) => {
                    if let Some(rule) = plan.settle.as_mut().filter(|rule| rule.rule == Rule::Anytime) {
                        rule.budget_s = budget_s;
                    }
                }
            }
            write_plan(directory.folder(), &plan)?;
            return Ok(Some((study, plan, directory)));
        }
        let mut study = self.request.study_of(programs[0], programs[1], self.options.trusted)?;
        // Later pairs run in the same way as the first ones.
        let request = self.all()?.first().map(|before| before.plan.turns.is_some());
        if two.step {
            self.record_for_why(&mut study, request == Some(true));
        }
        let planned = unless_interrupted(study_file::planned(study, self.machine, Where::Here, true))?;
        let Some((mut study, mut plan)) = planned else { return Ok(None) };
        let rule = self.rule(&plan, two, until)?;
        let on = (self.machine, Where::Here);
        let take_turns = ab_together::settle_turns(request.or(self.request.interleave), &mut study, &mut plan, on)?;
        plan.turns = take_turns.then_some(Turns { seed: rule.seed });
        room_for_data(&plan)?;
        if request.is_none() && !self.options.json {
            plan_view::print_notes(&plan);
        }
        plan = match until {
            Until::Settled(..) => settle::begun(plan, rule),
            Until::More(more) => {
                plan.trials.clear();
                settle::scheduled(plan, &rule, more)
            }
        };
        // A run that was killed before it wrote its plan leaves a directory without usable content.
        let _ = self.folder.make_sub(PAIRS)?.remove_all(&two.name());
        let directory = begun_in(&path, &study, &plan, self.machine, self.options.trusted)?;
        Ok(Some((study, plan, directory)))
    }

    /// Captures what `tare why` compares of the commit and of the one before it, unless the user chose captures. If
    /// samples take turns, perf would record both servers.
    fn record_for_why(&self, study: &mut Study, by_turns: bool) {
        let are_set = self.request.sets.iter().any(|set| set.starts_with("capture."));
        let base = &mut study.base;
        if !are_set && !base.capture.need_a_sample() && base.workload.load.load().no_captures().is_none() {
            base.capture.waits = true;
            base.capture.profile = !by_turns;
        }
    }

    fn rule(&self, plan: &Plan, two: Two, until: Until) -> Result<Settle, Problem> {
        let sides = ab_sides::conditions(plan)?;
        let budget_s = match until {
            Until::Settled(budget_s) => budget_s,
            Until::More(_) => None,
        };
        // The order within pairs has a seed of its own for every two builds.
        let seed = self.request.seed ^ ((two.a as u64) << 32 | (two.b as u64) << 1 | u64::from(two.step));
        Ok(Settle {
            metric: self.request.metric.clone(),
            minimum_effect: self.request.minimum_effect,
            alpha: ALPHA,
            budget_s,
            // Whoever looks after any pair, and gives it more time, keeps the error.
            ..Settle::between(sides, Rule::Anytime, seed)
        })
    }
}

/// The builds that a directory name stands for.
fn two(name: &str) -> Option<Two> {
    let (name, step) = name.strip_suffix("-step").map_or((name, false), |name| (name, true));
    let (a, b) = name.split_once('-')?;
    Some(Two { a: a.parse().ok()?, b: b.parse().ok()?, step })
}

/// Fails when no pair has a result although trials were run.
pub fn with_result(ends: &Measured) -> Result<(), Problem> {
    let pairs = ends.pairs();
    match pairs.measured.is_empty() && pairs.lost > 0 {
        false => Ok(()),
        true => Err(Problem::new(Exit::TrialFailed, "no pair of GOOD and BAD has a result: trials failed")
            .at(ends.path.join("trials.jsonl").display().to_string())
            .advice(format!("read the reasons with: tare show {}", quoted_path(&ends.path)))),
    }
}
