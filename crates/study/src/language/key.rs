//! A key of a study, and the keys of `[sampling]`.

use super::settings::{Sampling, Settings};
use tare_drive::workload::AnyLoad;
use tare_noise::Setting;
use tare_text::{Key, KeyInfo, Keyed, Kind, Value, key};

/// One key of a study. As a factor it is named by `key` alone.
#[derive(Clone, Copy)]
pub struct Field {
    pub section: &'static str,
    pub key: &'static str,
    /// Its description, with type and range of its values.
    pub info: KeyInfo,
    of: Owner,
}

/// What has the key.
#[derive(Clone, Copy)]
enum Owner {
    Study(&'static Key<Settings>),
    Loads,
    Machine(Setting),
}

impl PartialEq for Field {
    fn eq(&self, other: &Self) -> bool {
        (self.section, self.key) == (other.section, other.key)
    }
}

impl Field {
    pub(crate) fn common(section: &'static str, key: &'static Key<Settings>) -> Self {
        Self { section, key: key.name, info: key.info(), of: Owner::Study(key) }
    }

    pub(crate) fn of_load(key: KeyInfo) -> Self {
        Self { section: WORKLOAD, key: key.name, info: key, of: Owner::Loads }
    }

    pub(crate) fn of_machine(setting: Setting) -> Self {
        let info = KeyInfo { name: setting.name(), help: setting.levels(), in_study: "", kind: Kind::Words };
        Self { section: MACHINE, key: info.name, info, of: Owner::Machine(setting) }
    }

    /// Whether loads have it, not every study.
    pub(crate) fn is_of_loads(&self) -> bool {
        matches!(self.of, Owner::Loads)
    }

    /// The current value; none if it is not set, or if the settings' load has no such key.
    pub(crate) fn get(&self, settings: &Settings) -> Option<Value> {
        match self.of {
            Owner::Study(key) => key.get(settings),
            Owner::Loads => settings.workload.load.load().get(self.key),
            Owner::Machine(setting) => {
                settings.machine.iter().find(|level| level.setting() == setting).map(|level| level.text().into())
            }
        }
    }

    pub(crate) fn set(&self, settings: &mut Settings, value: &Value) -> Result<(), String> {
        match self.of {
            Owner::Study(key) => key.set(settings, value),
            Owner::Loads => settings.workload.load.load_mut().set(self.key, value),
            Owner::Machine(setting) => settings.set_machine(setting, &value.to_string()),
        }
    }

    /// Whether the value is valid, for a load that has this key.
    pub(crate) fn check(&self, value: &Value) -> Result<(), String> {
        if !self.is_of_loads() {
            return self.set(&mut Settings::default(), value);
        }
        let outcomes = self.loads().map(|mut load| load.load_mut().set(self.key, value));
        outcomes.reduce(|one, other| if one.is_ok() { one } else { other }).unwrap_or(Ok(()))
    }

    pub(crate) fn default(&self) -> Option<Value> {
        match self.is_of_loads() {
            true => self.loads().find_map(|load| load.load().get(self.key)),
            false => self.get(&Settings::default()),
        }
    }

    fn loads(&self) -> impl Iterator<Item = AnyLoad> {
        AnyLoad::all().into_iter().filter(|load| self.belongs_to(load))
    }

    pub(crate) fn belongs_to(&self, load: &AnyLoad) -> bool {
        !self.is_of_loads() || load.load().keys().iter().any(|key| key.name == self.key)
    }
}

/// Captures are no factor: they must not change what is measured.
pub(crate) const CAPTURE: &str = "capture";

/// The table of the clients' load.
pub(crate) const WORKLOAD: &str = "workload";
/// The table of machine-wide settings, with the names and levels of `tare-noise`.
pub(crate) const MACHINE: &str = "machine";

/// The factor whose levels are names of placements, each a set of keys.
pub(crate) const PLACEMENT: &str = "placement";
/// The factor whose levels are names of builds, each a set of keys.
pub(crate) const BUILD: &str = "build";

impl Keyed for Sampling {
    const KEYS: &'static [Key<Self>] = &[
        key!(whole "trials" in trials, (1, 100_000), "server lifetimes per condition: the sampling unit"),
        key!(whole "samples" in samples, (1, 100_000), "measured runs per trial"),
        key!(seconds "warmup_s" in warmup_s, "seconds of load before the first sample, not included in any figure"),
        Key::seconds_above_0("sample_s", "seconds per sample", |s| Some(s.sample_s), |s, v| s.sample_s = v),
        key!(whole "drop_samples" in drop_samples, (0, 1_000),
            "samples at the beginning of each trial that are measured and recorded but not included in any figure; the \
             report shows how far they are from the others"),
        key!(seconds "pause_s" in pause_s,
            "seconds of rest before each trial, for machines that must cool down or clouds with CPU credits"),
        Key::words(
            "target_half_width",
            "half-width of the 95% interval to reach, as a fraction of the mean (0.01 is 1%): `trials` are then a \
             pilot run, from which tare chooses warm-up, samples and trials; absent: the given numbers",
            |s| s.target_half_width.map(Into::into),
            |s, v| match v.number() {
                Some(width) if width > 0.0 && width < 1.0 => {
                    s.target_half_width = Some(width);
                    Ok(())
                }
                _ => Err("a fraction between 0 and 1, such as 0.01".into()),
            },
        ),
        Key::positive(
            "budget_s",
            "time limit for all trials with target_half_width, in seconds",
            "seconds",
            |s| Some(s.budget_s),
            |s, v| s.budget_s = v,
        ),
        Key::words(
            "within_s",
            "time limit for the whole run including its data, in seconds: tare shortens the plan to fit \
             (docs/within.md); absent: no limit",
            |s| s.within_s.map(Into::into),
            |s, v| v.positive("seconds").map(|v| s.within_s = Some(v)),
        ),
        key!(whole "seed" in seed, (0, i64::MAX as u64), "seed of the order of trials and of the load"),
        key!(whole "attempts" in attempts, (1, 100), "attempts at a trial before it counts as failed for good"),
        key!(optional seconds "trial_timeout_s" in trial_timeout_s,
            "time limit of a trial, in seconds; absent: four times the expected time plus one minute"),
        key!(words "steal_limit" in steal_limit,
            "share of CPU time that the hypervisor may take (steal time); above it a trial counts as disturbed and is \
             repeated; or off"),
        key!(words "foreign_cpu_limit" in foreign_cpu_limit,
            "share of the time of the benchmark's CPUs that other processes may take; above it a trial counts as \
             disturbed and is repeated; or off"),
        Key::words(
            "probe",
            "known work before and after each sample, on the sample's PUs while the server is idle: loads from memory \
             (chain), a spin loop (spin), two threads that wake each other (wakeup). off; record; the name of the one \
             by which comparisons are adjusted; or auto, which measures for a minute whether one of them helps here. \
             Not with a rate",
            |s| Some(s.probe_use().to_string().into()),
            |s, v| v.parsed().map(|v| s.probe = Some(v)),
        ),
        Key::words(
            "probe_share",
            "share of the time that probes may take; each takes at least 9 ms, and several short samples share one",
            |s| Some(s.probe_share.into()),
            |s, v| match v.number() {
                Some(share) if share > 0.0 && share <= 1.0 => {
                    s.probe_share = share;
                    Ok(())
                }
                _ => Err("a share of the time, above 0 and up to 1, such as 0.01".into()),
            },
        ),
    ];
}
