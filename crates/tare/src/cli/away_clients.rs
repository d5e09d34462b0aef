//! The clients' half of each trial of a study that is run on another host: this program here, spoken to from there.

use super::output::note;
use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Write};
use std::os::unix::process::CommandExt;
use std::process::{ChildStdin, Command, Stdio};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};
use tare_study::hosts::Mouth;
use tare_study::hosts::served::{Order, Wanted};

/// How long they may take to put everything back when the other host is gone.
const GRACE: Duration = Duration::from_secs(30);

/// All that trials there want of this host.
pub struct Clients {
    /// This program, with what stands before it.
    program: Vec<String>,
    mouth: Mouth,
    open: BTreeMap<u32, ChildStdin>,
    ends: Vec<JoinHandle<()>>,
}

impl Clients {
    /// No clients yet; `mouth` speaks to the host of the run.
    pub fn new(program: Vec<String>, mouth: Mouth) -> Self {
        Self { program, mouth, open: BTreeMap::new(), ends: Vec::new() }
    }

    /// Starts what a trial wants, under its number.
    pub fn begin(&mut self, number: u32, wanted: Wanted) {
        if let Err(error) = self.start(number, wanted) {
            note(&format!("note: {} cannot be started here: {error}", self.program.join(" ")));
            self.mouth.say(&Order::Ended(number, 127));
        }
    }

    fn start(&mut self, number: u32, wanted: Wanted) -> std::io::Result<()> {
        let (program, more) = self.program.split_first().ok_or(std::io::ErrorKind::NotFound)?;
        let mut child = Command::new(program)
            .args(more)
            .args(wanted.arguments())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            // A Ctrl-C in the terminal reaches only who started it, and ends this in good order.
            .process_group(0)
            .spawn()?;
        if let Some(input) = child.stdin.take() {
            self.open.insert(number, input);
        }
        let mouth = self.mouth.clone();
        self.ends.push(std::thread::spawn(move || {
            let out = child.stdout.take().into_iter();
            for line in out.flat_map(|out| BufReader::new(out).lines().map_while(Result::ok)) {
                mouth.say(&Order::Line(number, line));
            }
            let code = child.wait().ok().and_then(|status| status.code());
            mouth.say(&Order::Ended(number, code.unwrap_or(1)));
        }));
        Ok(())
    }

    /// Passes on what the trial says. Who has ended hears nothing.
    pub fn tell(&mut self, number: u32, line: &str) {
        if let Some(input) = self.open.get_mut(&number) {
            let _ = writeln!(input, "{line}");
        }
    }

    /// The trial says no more: what it wanted ends by itself.
    pub fn end(&mut self, number: u32) {
        self.open.remove(&number);
    }

    /// Ends all, and waits until they have put everything back.
    pub fn end_all(mut self) {
        self.open.clear();
        let deadline = Instant::now() + GRACE;
        while self.ends.iter().any(|end| !end.is_finished()) && Instant::now() < deadline {
            std::thread::sleep(Duration::from_millis(20));
        }
    }
}
