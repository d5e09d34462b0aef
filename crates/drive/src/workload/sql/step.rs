//! The steps of a trial: their roles, and how the threads of the roles keep together.

use super::file::{self, Sizes};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// Transactions by which a role may be ahead of another in a step with a count: the length of the queue between the
/// inserting and the deleting process of iibench.py.
const AHEAD: u64 = 8;
/// Interval between checks while waiting for another role.
const LOOK_AGAIN: Duration = Duration::from_micros(100);
/// Interval between checks of a thread that has no work in the whole step.
const LOOK_LATER: Duration = Duration::from_secs(1);

#[derive(Debug)]
pub(super) struct Step {
    pub name: String,
    /// Transactions of each role; None: the step lasts for a sample.
    pub count: Option<u64>,
    pub roles: Vec<Role>,
    pub analyze: Vec<String>,
}

#[derive(Debug)]
pub(super) struct Role {
    pub name: String,
    pub runs: Vec<usize>,
    /// Transactions per second of each of its threads.
    pub rate: Option<f64>,
    pub writes: bool,
}

pub(super) struct Known<'a> {
    pub name: &'a str,
    pub weight: u64,
    pub writes: bool,
}

pub(super) fn read(steps: Vec<file::FileStep>, known: &[Known<'_>], sizes: Sizes) -> Result<Vec<Step>, String> {
    let mut made: Vec<Step> = Vec::new();
    for step in steps {
        let wrong = |what: String| format!("step {}: {what}", step.name);
        if !is_word(&step.name) || made.iter().any(|before| before.name == step.name) {
            return Err(wrong("a unique name of letters, digits and _".to_owned()));
        }
        let count = step.count.as_ref().map(|count| count.value(sizes)).transpose().map_err(wrong)?;
        let count = count.map(|count| u64::try_from(count).ok().filter(|count| *count > 0));
        if count == Some(None) {
            return Err(wrong("a count of 1 or more; rows may be too few".to_owned()));
        }
        let roles = step.roles.into_iter().map(|(name, role)| one_role(name, role, known));
        let roles = roles.collect::<Result<Vec<_>, String>>().map_err(wrong)?;
        if roles.is_empty() {
            return Err(wrong("at least one role, as roles.insert = { run = [\"TRANSACTION\"] }".to_owned()));
        }
        if count.is_some() && roles.iter().any(|role| role.rate.is_some()) {
            return Err(wrong(
                "either count, or roles with a rate: with a count, all roles have the same \
                rate"
                    .to_owned(),
            ));
        }
        made.push(Step { name: step.name, count: count.flatten(), roles, analyze: step.analyze });
    }
    Ok(made)
}

pub(super) fn is_word(name: &str) -> bool {
    !name.is_empty() && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
}

fn one_role(name: String, role: file::FileRole, known: &[Known<'_>]) -> Result<Role, String> {
    let wrong = |what: String| format!("role {name}: {what}");
    if !is_word(&name) || name.contains('_') {
        return Err(wrong("a name of letters and digits".to_owned()));
    }
    if role.rate.is_some_and(|rate| !(1e-6..=1e9).contains(&rate)) {
        return Err(wrong("a rate of transactions per second from 1e-6 to 1e9".to_owned()));
    }
    let find = |run: &String| {
        known.iter().position(|one| one.name == *run).ok_or_else(|| {
            let names: Vec<&str> = known.iter().map(|one| one.name).collect();
            let near = tare_text::nearest(run, names.iter().copied());
            let near = near.map_or(String::new(), |near| format!("; did you mean {near}?"));
            wrong(format!("{run} is not one of the transactions ({}){near}", names.join(", ")))
        })
    };
    let runs = role.run.iter().map(find).collect::<Result<Vec<usize>, String>>()?;
    if runs.iter().all(|run| known[*run].weight == 0) {
        return Err(wrong("run names at least one transaction with a weight above 0".to_owned()));
    }
    let writes = runs.iter().any(|run| known[*run].writes);
    Ok(Role { rate: role.rate, writes, runs, name })
}

/// Number of roles of the largest step: the threads that one client needs.
pub(super) fn threads_of_client(steps: &[Step]) -> usize {
    steps.iter().map(|step| step.roles.len()).max().unwrap_or(1)
}

/// Progress of the roles of a step, shared by all of their threads.
#[derive(Debug)]
struct Progress {
    count: Option<u64>,
    /// Of each role: begun, and done.
    roles: Vec<(AtomicU64, AtomicU64)>,
}

impl Progress {
    /// Takes one of the transactions that a role may begin now; otherwise returns the time until the next check.
    fn take(&self, role: usize) -> Result<(), Duration> {
        let Some(count) = self.count else { return Ok(()) };
        let slowest = self.roles.iter().map(|(_, done)| done.load(Ordering::Relaxed)).min().unwrap_or(0);
        let may = |begun: u64| (begun < count && begun < slowest + AHEAD).then_some(begun + 1);
        match self.roles[role].0.fetch_update(Ordering::Relaxed, Ordering::Relaxed, may) {
            Ok(_) => Ok(()),
            Err(begun) if begun >= count => Err(LOOK_LATER),
            Err(_) => Err(LOOK_AGAIN),
        }
    }
}

#[derive(Debug)]
pub(super) struct Parts {
    progress: Arc<Progress>,
    /// Of each role: its transactions, and the interval between two transactions of a thread.
    roles: Vec<(Vec<usize>, Option<Duration>)>,
    of_client: usize,
}

impl Parts {
    /// The parts of a step; each client has `of_client` threads.
    pub(crate) fn of(step: &Step, of_client: usize) -> Self {
        let roles = step
            .roles
            .iter()
            .map(|role| (role.runs.clone(), role.rate.map(|rate| Duration::from_secs_f64(1.0 / rate))));
        let progress = step.roles.iter().map(|_| (AtomicU64::new(0), AtomicU64::new(0))).collect();
        Self { progress: Arc::new(Progress { count: step.count, roles: progress }), roles: roles.collect(), of_client }
    }

    /// The part of a thread: the first threads of each client have the roles in order, the others have none.
    pub(crate) fn of_thread(&self, index: usize) -> Part {
        let number = index % self.of_client;
        let (runs, gap) = self.roles.get(number).cloned().unwrap_or_default();
        let role = (number < self.roles.len()).then_some(number);
        Part { progress: Arc::clone(&self.progress), role, runs, gap, due: None }
    }
}

#[derive(Debug)]
pub(super) struct Part {
    progress: Arc<Progress>,
    /// None: no work in this step.
    role: Option<usize>,
    pub(super) runs: Vec<usize>,
    /// The interval between two of its transactions, if it has a rate.
    gap: Option<Duration>,
    due: Option<Instant>,
}

impl Part {
    /// If the thread must wait, the time until its next check. With a rate, it catches up on transactions that are
    /// late.
    pub(crate) fn idle(&mut self) -> Option<Duration> {
        let Some(role) = self.role else { return Some(LOOK_LATER) };
        if let Some(gap) = self.gap {
            let now = Instant::now();
            let due = *self.due.get_or_insert(now);
            let left = due.saturating_duration_since(now);
            if !left.is_zero() {
                return Some(left);
            }
            self.due = Some(due + gap);
        }
        self.progress.take(role).err()
    }

    /// The first transaction is due at the beginning of a sample.
    pub(crate) fn sample_begins(&mut self) {
        self.due = None;
    }

    pub(crate) fn done(&self) {
        if let Some(role) = self.role {
            self.progress.roles[role].1.fetch_add(1, Ordering::Relaxed);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::mix::{FileChanges, Mix};
    use super::*;

    const TEXT: &str = "[[transaction]]\nname = \"add\"\nstatements = [\"INSERT INTO t VALUES (1)\"]\n\
        [[transaction]]\nname = \"take\"\nstatements = [\"DELETE FROM t\"]\n\
        [[transaction]]\nname = \"look\"\nstatements = [\"SELECT 1\"]\n\
        [[step]]\nname = \"both\"\ncount = \"rows / 500\"\nroles.a = { run = [\"add\"] }\nroles.b = { run = [\"take\"] }\n\
        [[step]]\nname = \"reads\"\nanalyze = [\"t\"]\nroles.a = { run = [\"add\"], rate = 20 }\n\
        roles.b = { run = [\"take\"], rate = 20 }\nroles.c = { run = [\"look\"] }\n";

    fn steps() -> Vec<Step> {
        Mix::read(TEXT, &FileChanges::default()).unwrap().steps
    }

    #[test]
    fn roles_with_a_count_advance_together_and_stop_at_their_count() {
        let parts = Parts::of(&steps()[0], 3);
        let (mut a, mut b, mut none) = (parts.of_thread(0), parts.of_thread(4), parts.of_thread(2));
        assert_eq!(none.idle(), Some(LOOK_LATER));
        let mut ahead = 0;
        while a.idle().is_none() {
            a.done();
            ahead += 1;
        }
        assert_eq!(ahead, AHEAD, "b has not run yet");
        assert_eq!(a.idle(), Some(LOOK_AGAIN));
        let mut done = (AHEAD, 0);
        for _ in 0..100 {
            if b.idle().is_none() {
                b.done();
                done.1 += 1;
            }
            if a.idle().is_none() {
                a.done();
                done.0 += 1;
            }
            assert!(done.0.abs_diff(done.1) <= AHEAD);
        }
        assert_eq!(done, (20, 20), "10,000 rows by 500");
        assert_eq!((a.idle(), b.idle()), (Some(LOOK_LATER), Some(LOOK_LATER)));
    }

    #[test]
    fn a_role_with_a_rate_waits_until_due_and_catches_up() {
        let mut part = Parts::of(&steps()[1], 3).of_thread(0);
        assert_eq!(part.idle(), None);
        assert!(part.idle().is_some_and(|left| left <= Duration::from_millis(50)));
        std::thread::sleep(Duration::from_millis(120));
        // Due at 50 and at 100 ms.
        assert_eq!((part.idle(), part.idle()), (None, None));
    }

    #[test]
    fn mistakes_in_steps_say_where_they_are() {
        let wrong = |from: &str, to: &str| Mix::read(&TEXT.replace(from, to), &FileChanges::default()).unwrap_err();
        assert!(wrong("run = [\"look\"]", "run = [\"lok\"]").contains("step reads: role c: lok is not one"));
        assert!(wrong("\"reads\"", "\"both\"").contains("a unique name of letters"));
        assert!(wrong("rows / 500", "rows / 50000").contains("step both: a count of 1 or more"));
        for rate in ["0", "-1", "nan", "inf", "1e-300"] {
            assert!(wrong("rate = 20", &format!("rate = {rate}")).contains("from 1e-6 to 1e9"), "{rate}");
        }
        assert!(wrong("analyze = [\"t\"]", "count = 5").contains("count, or roles with a rate"));
        assert!(wrong("roles.c", "rols.c").contains("unknown field"));
        assert_eq!(threads_of_client(&steps()), 3);
        let one = FileChanges { transaction: Some("look".to_owned()), ..FileChanges::default() };
        assert!(Mix::read(TEXT, &one).unwrap().steps.is_empty());
    }
}
