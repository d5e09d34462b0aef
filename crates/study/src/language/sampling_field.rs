//! The keys of `[sampling]`.

use super::settings::Sampling;
use tare_text::Value;

/// One key of `[sampling]`.
pub struct SamplingField {
    /// Its name below `[sampling]`.
    pub key: &'static str,
    /// What it means, for the reference.
    pub help: &'static str,
    /// The present value, none when it is not set.
    pub get: fn(&Sampling) -> Option<Value>,
    /// Sets a value; the error says what was expected.
    pub set: fn(&mut Sampling, &Value) -> Result<(), String>,
}

/// The keys of `[sampling]`, in the order in which they are explained.
pub const SAMPLING_FIELDS: &[SamplingField] = &[
    SamplingField {
        key: "trials",
        help: "server lifetimes a condition: the sampling unit",
        get: |s| Some(s.trials.into()),
        set: |s, v| v.whole(1, 100_000).map(|v| s.trials = v),
    },
    SamplingField {
        key: "samples",
        help: "measured runs a trial",
        get: |s| Some(s.samples.into()),
        set: |s, v| v.whole(1, 100_000).map(|v| s.samples = v),
    },
    SamplingField {
        key: "warmup_s",
        help: "seconds of load before the first sample, left out of all figures",
        get: |s| Some(s.warmup_s.into()),
        set: |s, v| v.seconds().map(|v| s.warmup_s = v),
    },
    SamplingField {
        key: "sample_s",
        help: "seconds a sample",
        get: |s| Some(s.sample_s.into()),
        set: |s, v| match v.seconds()? {
            0.0 => Err("a number of seconds above 0".into()),
            v => {
                s.sample_s = v;
                Ok(())
            }
        },
    },
    SamplingField {
        key: "drop_samples",
        help: "samples at the beginning of each trial that are measured, kept aside in its record, and left out of all \
               figures; the report says how far they lie from the others",
        get: |s| Some(s.drop_samples.into()),
        set: |s, v| v.whole(0, 1_000).map(|v| s.drop_samples = v),
    },
    SamplingField {
        key: "pause_s",
        help: "seconds of rest before each trial, for machines that have to cool down or clouds that give credit",
        get: |s| Some(s.pause_s.into()),
        set: |s, v| v.seconds().map(|v| s.pause_s = v),
    },
    SamplingField {
        key: "target_half_width",
        help: "half-width of the 95% interval to reach, as a fraction of the mean (0.01 is 1%): `trials` are then a \
               pilot, from which warm-up, samples and trials are chosen; absent: counts as given",
        get: |s| s.target_half_width.map(Into::into),
        set: |s, v| match v.number() {
            Some(width) if width > 0.0 && width < 1.0 => {
                s.target_half_width = Some(width);
                Ok(())
            }
            _ => Err("a fraction between 0 and 1, such as 0.01".into()),
        },
    },
    SamplingField {
        key: "budget_s",
        help: "seconds for all trials of all conditions, when target_half_width chooses the counts",
        get: |s| Some(s.budget_s.into()),
        set: |s, v| v.positive("seconds").map(|v| s.budget_s = v),
    },
    SamplingField {
        key: "seed",
        help: "seed of the order of trials and of the load",
        get: |s| Some(s.seed.into()),
        set: |s, v| v.whole(0, i64::MAX as u64).map(|v| s.seed = v),
    },
    SamplingField {
        key: "attempts",
        help: "attempts at a trial before it counts as failed for good",
        get: |s| Some(s.attempts.into()),
        set: |s, v| v.whole(1, 100).map(|v| s.attempts = v),
    },
    SamplingField {
        key: "trial_timeout_s",
        help: "seconds a trial may take; absent: four times what it should, and a minute",
        get: |s| s.trial_timeout_s.map(Into::into),
        set: |s, v| v.seconds().map(|v| s.trial_timeout_s = Some(v)),
    },
    SamplingField {
        key: "steal_limit",
        help: "share of the CPU time that the hypervisor may take before a trial counts as disturbed and runs again, \
               or off",
        get: |s| Some(s.steal_limit.to_string().into()),
        set: |s, v| v.parsed().map(|v| s.steal_limit = v),
    },
    SamplingField {
        key: "foreign_cpu_limit",
        help: "share of the time of the benchmark's CPUs that other processes may take before a trial counts as \
               disturbed and runs again, or off",
        get: |s| Some(s.foreign_cpu_limit.to_string().into()),
        set: |s, v| v.parsed().map(|v| s.foreign_cpu_limit = v),
    },
    SamplingField {
        key: "probe",
        help: "a reference weight before and after each sample, on its own PUs while the server idles (loads from \
               memory, a spin, two threads that wake each other): off, record, or the one that comparisons are \
               adjusted by: chain, spin or wakeup. Not with a rate",
        get: |s| Some(s.probe.to_string().into()),
        set: |s, v| v.parsed().map(|v| s.probe = v),
    },
    SamplingField {
        key: "probe_share",
        help: "part of the time that probes may take; each takes 9 ms at least, and samples of less share one",
        get: |s| Some(s.probe_share.into()),
        set: |s, v| match v.number() {
            Some(share) if share > 0.0 && share <= 1.0 => {
                s.probe_share = share;
                Ok(())
            }
            _ => Err("a part of the time, above 0 and up to 1, such as 0.01".into()),
        },
    },
];

/// The key of this name.
pub fn find(key: &str) -> Option<&'static SamplingField> {
    SAMPLING_FIELDS.iter().find(|f| f.key == key)
}
