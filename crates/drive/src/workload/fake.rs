//! A load for tests, added in the same way as any load: this file, and its line in the registry.

use super::{Driven, FillError, FillJob, Load, LoadContext, LoadError, Measured, TrialSize};
use crate::sut::LoadAround;
use tare_engine::Server;
use tare_results::metric;
use tare_text::{Key, Keyed};

#[derive(Debug, Clone, PartialEq)]
pub struct FakeSettings {
    pub speed: f64,
}

impl Keyed for FakeSettings {
    const KEYS: &'static [Key<Self>] = &[Key::positive(
        "speed",
        "what the fake load claims to have measured",
        "transactions per second",
        |s| Some(s.speed),
        |s, v| s.speed = v,
    )];
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

    fn drive(&self, mut stage: LoadContext<'_>) -> Result<Driven, LoadError> {
        let mut samples = Vec::new();
        for _ in 0..stage.counts.samples {
            stage.watch.start(LoadAround::Idle)?;
            let surroundings = stage.watch.finish()?;
            let metrics = vec![(metric::TPS, self.speed)];
            samples.push(Measured { elapsed_s: 1.0, metrics, surroundings, ..Measured::default() });
        }
        Ok(Driven { samples, ..Driven::default() })
    }

    fn expected_s(&self, counts: &TrialSize) -> f64 {
        counts.samples as f64
    }
}

#[cfg(test)]
mod tests {
    use crate::workload::AnyLoad;

    #[test]
    fn one_registry_line_gives_a_new_load_its_name_and_keys() {
        let load = AnyLoad::named("fake").unwrap();
        assert!(AnyLoad::names().contains(&"fake"));
        assert!(AnyLoad::all().iter().any(|other| std::mem::discriminant(other) == std::mem::discriminant(&load)));
        let keys: Vec<&str> = load.load().keys().iter().map(|key| key.name).collect();
        assert_eq!(keys, ["speed"]);
        assert_eq!(load.load().get("speed"), Some(1000.0.into()));
    }
}
