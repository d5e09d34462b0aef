//! Wall-clock time of the connections' threads as folded chains: what runs from the profile, what sleeps from `waits`,
//! as "on- and off-CPU in one profile" (Ahn et al., OSDI 2024).

use super::super::place::{Captured, FOLDED_FILE, Place};
use tare_results::captures::{FOLDED, WALL};
use tare_results::waits::{TimePart, TimeUse, WaitsFile};

/// Weights are millionths of the threads' time.
const WHOLE: f64 = 1e6;

/// Writes `wall.folded`, with the chains of the profile where there is one.
pub(in super::super) fn write(file: &WaitsFile, place: &Place, captured: &mut Captured) {
    let profile = captured.files.get(FOLDED).and_then(|_| std::fs::read_to_string(place.path(FOLDED_FILE)).ok());
    let text = folded(&file.connections.parts, profile.as_deref().unwrap_or_default());
    place.write(captured, WALL, "wall.folded", text.as_bytes());
}

fn folded(parts: &[TimePart], profile: &str) -> String {
    let mut text = String::new();
    for part in parts {
        match part.time {
            TimeUse::Ran => text.push_str(&running(part.fraction * WHOLE, profile)),
            time => {
                let on = part.on.as_ref().map_or(String::new(), |on| format!(";{}", on.replace([';', '\n'], ":")));
                let weight = (part.fraction * WHOLE).round();
                let state = if time.is_asleep() { "asleep" } else { "ready" };
                text.push_str(&format!("{state};{time}{on} {weight}\n"));
            }
        }
    }
    text
}

/// The profile's chains, as heavy together as the time that threads ran.
fn running(whole: f64, profile: &str) -> String {
    let lines = profile.lines().filter_map(|line| {
        let (chain, weight) = line.rsplit_once(' ')?;
        Some((chain, weight.parse::<f64>().ok()?))
    });
    let lines: Vec<(&str, f64)> = lines.collect();
    let sum: f64 = lines.iter().map(|(_, weight)| weight).sum();
    if sum <= 0.0 {
        return format!("ran {}\n", whole.round());
    }
    let scaled = lines.into_iter().map(|(chain, weight)| (chain, (whole * weight / sum).round()));
    scaled.filter(|(_, weight)| *weight >= 1.0).map(|(chain, weight)| format!("ran;{chain} {weight}\n")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn running_and_sleeping_add_up_to_the_threads_time() {
        let part = |time, on: Option<&str>, fraction| TimePart {
            time,
            on: on.map(str::to_owned),
            operation: None,
            addresses: 0,
            threads: 2,
            fraction,
        };
        let parts = [
            part(TimeUse::SharedFutex, Some("dict_sys+0x40"), 0.5),
            part(TimeUse::Ran, None, 0.4),
            part(TimeUse::WaitedForCpu, None, 0.1),
        ];
        let text = folded(&parts, "main;serve 30\nmain;log 10\n");
        assert_eq!(
            text,
            "asleep;shared_futex;dict_sys+0x40 500000\nran;main;serve 300000\nran;main;log 100000\n\
             ready;waited_for_cpu 100000\n"
        );
        assert!(folded(&parts, "").contains("ran 400000\n"));
    }
}
