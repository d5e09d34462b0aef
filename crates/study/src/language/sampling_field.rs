//! The keys of `[sampling]`.

use super::settings::Sampling;
use tare_text::{Key, Keyed, key};

impl Keyed for Sampling {
    const KEYS: &'static [Key<Self>] = &[
        key!(whole "trials" in trials, (1, 100_000), "server lifetimes per condition: the sampling unit"),
        key!(whole "samples" in samples, (1, 100_000), "measured runs per trial"),
        key!(seconds "warmup_s" in warmup_s, "seconds of load before the first sample, left out of all figures"),
        Key::seconds_above_0("sample_s", "seconds per sample", |s| Some(s.sample_s), |s, v| s.sample_s = v),
        key!(whole "drop_samples" in drop_samples, (0, 1_000),
            "samples at the beginning of each trial that are measured, kept aside in its record, and left out of all \
             figures; the report says how far they lie from the others"),
        key!(seconds "pause_s" in pause_s,
            "seconds of rest before each trial, for machines that have to cool down or clouds that give credit"),
        Key::words(
            "target_half_width",
            "half-width of the 95% interval to reach, as a fraction of the mean (0.01 is 1%): `trials` are then a \
             pilot, from which warm-up, samples and trials are chosen; absent: counts as given",
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
            "seconds for all trials of all conditions, when target_half_width chooses the counts",
            "seconds",
            |s| Some(s.budget_s),
            |s, v| s.budget_s = v,
        ),
        Key::words(
            "within_s",
            "seconds for the whole run, its data included: the plan is cut to what can be answered in it \
             (docs/within.md); absent: as long as it takes",
            |s| s.within_s.map(Into::into),
            |s, v| v.positive("seconds").map(|v| s.within_s = Some(v)),
        ),
        key!(whole "seed" in seed, (0, i64::MAX as u64), "seed of the order of trials and of the load"),
        key!(whole "attempts" in attempts, (1, 100), "attempts at a trial before it counts as failed for good"),
        key!(optional seconds "trial_timeout_s" in trial_timeout_s,
            "seconds a trial may take; absent: four times what it should, and a minute"),
        key!(words "steal_limit" in steal_limit,
            "share of the CPU time that the hypervisor may take before a trial counts as disturbed and runs again, or \
             off"),
        key!(words "foreign_cpu_limit" in foreign_cpu_limit,
            "share of the time of the benchmark's CPUs that other processes may take before a trial counts as \
             disturbed and runs again, or off"),
        key!(words "probe" in probe,
            "a reference weight before and after each sample, on its own PUs while the server idles (loads from \
             memory, a spin, two threads that wake each other): off, record, the one that comparisons are adjusted by \
             (chain, spin or wakeup), or auto, which measures in a minute whether one of them helps here. Not with a \
             rate"),
        Key::words(
            "probe_share",
            "part of the time that probes may take; each takes 9 ms at least, and samples of less share one",
            |s| Some(s.probe_share.into()),
            |s, v| match v.number() {
                Some(share) if share > 0.0 && share <= 1.0 => {
                    s.probe_share = share;
                    Ok(())
                }
                _ => Err("a part of the time, above 0 and up to 1, such as 0.01".into()),
            },
        ),
    ];
}
