//! The finished lines of the benchmark: a stopped benchmark goes on after them.

use std::fs::OpenOptions;
use std::io::Write;
use std::path::PathBuf;

/// The file of the lines, unless TARE_WHY_ROWS is set.
const FILE: &str = "why-rows.txt";

/// Lines, each of which begins with its name.
pub struct Rows {
    path: PathBuf,
    done: String,
    wanted: String,
    /// Lines with a wrong result.
    pub wrong: Vec<String>,
}

impl Rows {
    /// The lines of earlier runs; TARE_WHY_CASES selects lines by a word in their names.
    pub fn read() -> Self {
        let otherwise = || std::path::Path::new(env!("CARGO_TARGET_TMPDIR")).join(FILE);
        let path = std::env::var_os("TARE_WHY_ROWS").map_or_else(otherwise, PathBuf::from);
        let done = std::fs::read_to_string(&path).unwrap_or_default();
        let wanted = std::env::var("TARE_WHY_CASES").unwrap_or_default().to_lowercase();
        println!("lines are kept in {}; what stands there is not done again", path.display());
        Self { path, done, wanted, wrong: Vec::new() }
    }

    /// Makes a line, unless it exists or is not selected. `make` returns whether it is right, and its text.
    pub fn line(&mut self, name: &str, make: impl FnOnce() -> (bool, String)) {
        if !name.to_lowercase().contains(&self.wanted) {
            return;
        }
        let known = self.done.lines().find(|line| line.starts_with(&format!("{name:<62} |"))).map(str::to_owned);
        let line = known.unwrap_or_else(|| {
            let before = load();
            let (right, text) = make();
            let mark = if right { "right" } else { "WRONG" };
            let line = format!("{name:<62} | {mark} | {text} | load {before} to {}", load());
            let mut file = OpenOptions::new().create(true).append(true).open(&self.path).expect("a file of lines");
            writeln!(file, "{line}").expect("a line is kept");
            line
        });
        println!("{line}");
        if line.contains("| WRONG |") {
            self.wrong.push(line);
        }
    }
}

/// The load average of the last minute.
fn load() -> String {
    let text = std::fs::read_to_string("/proc/loadavg").unwrap_or_default();
    text.split(' ').next().unwrap_or("?").to_owned()
}
