//! A load that a test adds exactly as any load is added: this file, and its line in the registry.

use super::{Counts, Driven, FillError, FillJob, Key, Keyed, Load, LoadError, Measured, Stage};
use tare_engine::Server;
use tare_results::metric;

/// What the fake load is asked to do.
#[derive(Debug, Clone, PartialEq)]
pub struct FakeSettings {
    /// What it claims to have measured.
    pub speed: f64,
}

impl Keyed for FakeSettings {
    const KEYS: &'static [Key<Self>] = &[Key {
        name: "speed",
        help: "what the fake load claims to have measured",
        get: |s| Some(s.speed.into()),
        set: |s, v| v.positive("transactions a second").map(|v| s.speed = v),
    }];
}

impl FakeSettings {
    /// What `workload.name` says in a study.
    pub const NAMES: &'static [&'static str] = &["fake"];

    /// The load of this name.
    pub fn named(name: &str) -> Option<Self> {
        Self::NAMES.contains(&name).then(Self::default)
    }
}

impl Default for FakeSettings {
    fn default() -> Self {
        Self { speed: 1000.0 }
    }
}

impl Load for FakeSettings {
    fn name(&self) -> &'static str {
        "fake"
    }

    fn needs_server(&self) -> bool {
        false
    }

    fn dataset(&self, seed: u64) -> String {
        format!("fake, seed {seed}")
    }

    fn fill(&self, _job: &FillJob<'_>, _server: &dyn Server) -> Result<(), FillError> {
        Ok(())
    }

    fn drive(&self, mut stage: Stage<'_>) -> Result<Driven, LoadError> {
        let mut samples = Vec::new();
        for _ in 0..stage.counts.samples {
            stage.watch.start()?;
            let surroundings = stage.watch.finish()?;
            let metrics = vec![(metric::TPS, self.speed)];
            samples.push(Measured { elapsed_s: 1.0, metrics, surroundings, ..Measured::default() });
        }
        Ok(Driven { samples, ..Driven::default() })
    }

    fn expected_s(&self, counts: &Counts) -> f64 {
        counts.samples as f64
    }
}

#[cfg(test)]
mod tests {
    use crate::plan::design::conditions;
    use crate::plan::resolve::{Where, resolve};
    use crate::plan::task::Task;
    use crate::study::document::Source;
    use crate::study::parse::{Overrides, parse};
    use tare_topology::Machine;

    const STUDY: &str = "name = \"own\"\n[workload]\nname = \"fake\"\n[sampling]\ntrials = 2\nsamples = 3\n\
                         [factors]\nspeed = [10, 20.5]\n";

    #[test]
    fn a_new_load_has_keys_factors_plans_and_trials_by_its_line_alone() {
        let study = parse(Source { origin: "test", text: STUDY }, &Overrides::default()).unwrap();
        let names: Vec<String> = conditions(&study).unwrap().into_iter().map(|c| c.name).collect();
        assert_eq!(names, ["speed=10", "speed=20.5"]);
        let plan = resolve(&study, &Machine::this().unwrap(), Where::Here).unwrap();
        assert_eq!((plan.trials.len(), plan.estimated_s), (4, 12.0));
        let task = Task::find(&study, &plan, 0).unwrap();
        assert_eq!(task.condition.settings.workload.load.load().name(), "fake");
        let wrong = STUDY.replace("20.5", "-1");
        let error = parse(Source { origin: "test", text: &wrong }, &Overrides::default()).unwrap_err();
        assert_eq!(error.expected, "a number of transactions a second above 0");
    }

    #[test]
    fn a_key_of_another_load_is_a_mistake() {
        let text = "name = \"own\"\n[workload]\nrows = 5\nname = \"fake\"\n";
        let error = parse(Source { origin: "test", text }, &Overrides::default()).unwrap_err();
        assert_eq!((error.line, error.what.as_str()), (3, "unknown key of this workload `rows`"));
    }

    #[test]
    fn a_load_that_is_a_level_takes_the_studys_keys_that_it_has() {
        let text = "name = \"own\"\n[workload]\nname = \"read_only\"\nrows = 5\n[factors]\n\
                    workload = [\"read_only\", \"point_select\"]\n";
        let study = parse(Source { origin: "test", text }, &Overrides::default()).unwrap();
        for condition in conditions(&study).unwrap() {
            let load = condition.settings.workload.load;
            assert_eq!(
                (load.load().name(), load.load().get("rows")),
                (condition.levels["workload"].as_str(), Some(5_u64.into()))
            );
        }
    }
}
