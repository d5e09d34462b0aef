//! Tests of the doctor on this machine.

use std::time::Duration;
use tare_noise::doctor::{Options, Severity, examine};
use tare_noise::{Setting, System};

#[test]
fn this_machine_is_examined_without_any_right() {
    let options = Options {
        cpus: None,
        window: Duration::from_millis(100),
        spin: Duration::from_millis(50),
        drift: Duration::ZERO,
    };
    let system = System::real();
    let _lock = crate::common::host_lock();
    let settings = || Setting::ALL.map(|s| s.read(&system).ok());
    let before = settings();
    let found = examine(&system, &options);
    assert_eq!(settings(), before, "it changes nothing");
    let names: Vec<_> = found.findings.iter().map(|f| f.name).collect();
    for name in [
        "numa_balancing",
        "thp",
        "governor",
        "turbo",
        "smt",
        "c_states",
        "aslr",
        "frequency",
        "clocksource",
        "cpu_quota",
        "cpuset",
        "isolation",
        "swap",
        "server_group",
        "load_average",
        "background_cpu",
        "interrupts",
        "jitter",
    ] {
        assert!(names.contains(&name), "{name} in {names:?}");
    }
    assert!(found.findings.is_sorted_by(|a, b| a.severity >= b.severity), "the worst first");
    for finding in &found.findings {
        assert!(!finding.value.is_empty(), "{finding:?}");
        assert!(finding.severity == Severity::Good || !finding.cost.is_empty(), "{finding:?}");
    }
    assert_eq!(found.jitter.len(), std::thread::available_parallelism().unwrap().get());
    for jitter in &found.jitter {
        assert!(jitter.pieces > 0 && (0.0..1.0).contains(&jitter.stolen_fraction), "{jitter:?}");
        assert!(jitter.elapsed_s >= 0.05, "{jitter:?}");
    }
    assert!(found.interference["elapsed_s"] >= 0.1);
}
