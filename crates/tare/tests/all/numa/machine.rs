//! A virtual machine with NUMA nodes, in software emulation on any x86-64 host: real kernels for x86-64 or 64-bit Arm.

use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use tempfile::TempDir;

use crate::numa::guest::{Guest, RESULTS_BEGIN, RESULTS_END};
use crate::numa::image::Image;
use crate::support::Ended;

pub struct Node {
    /// Its CPUs, such as "0-11"; `None` for a memory-only node.
    pub cpus: Option<&'static str>,
    /// Its memory; `None` for a node without memory.
    pub memory_mib: Option<u32>,
}

pub struct Machine {
    /// qemu's description of sockets, cores and threads.
    pub smp: &'static str,
    pub nodes: Vec<Node>,
    /// From, to, distance; valid in both directions.
    pub distances: &'static [(usize, usize, u32)],
}

/// Distances of the machine with four nodes.
pub const DISTANCES_OF_FOUR: [[u32; 4]; 4] = [[10, 16, 32, 33], [16, 10, 25, 32], [32, 25, 10, 16], [33, 32, 16, 10]];

impl Machine {
    /// Four nodes with two CPUs and `memory_mib` of memory each.
    pub fn of_four_nodes(memory_mib: u32) -> Self {
        let nodes = ["0-1", "2-3", "4-5", "6-7"].map(|cpus| Node { cpus: Some(cpus), memory_mib: Some(memory_mib) });
        Self {
            smp: "8,sockets=4,cores=2,threads=1",
            nodes: nodes.into(),
            distances: &[(0, 1, 16), (0, 2, 32), (0, 3, 33), (1, 2, 25), (1, 3, 32), (2, 3, 16)],
        }
    }
}

/// The files that a machine's job wrote. They are kept if the test fails.
pub struct Evidence {
    directory: TempDir,
}

impl Drop for Evidence {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.directory.disable_cleanup(true);
            eprintln!("what the machine left is in {}", self.directory.path().display());
        }
    }
}

impl Evidence {
    pub fn path(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    pub fn text(&self, name: &str) -> String {
        std::fs::read_to_string(self.path(name)).unwrap_or_else(|e| panic!("the machine left no {name}: {e}"))
    }

    /// The output of a step, which must have ended with `code`.
    pub fn step(&self, name: &str, code: i32) -> String {
        let found = self.text(&format!("{name}.code"));
        let (out, err) = (self.text(&format!("{name}.out")), self.text(&format!("{name}.err")));
        assert_eq!(found.trim(), code.to_string(), "{name}\n{out}\n{err}");
        out
    }
}

/// Printed by the guest when the kernel has booted.
const JOB_BEGINS: &str = "job begins";
/// Printed by the kernel when a boot hangs: emulated CPUs sometimes loop forever in code that another has patched.
const BOOT_STANDS: &str = "detected stalls on CPUs";
const BOOTS: usize = 3;

#[derive(Debug)]
enum End {
    Off,
    Failed(ExitStatus),
    NeverBooted,
    TimeUp,
}

impl Machine {
    /// Boots the image with `job`, waits for its end, and unpacks its results.
    pub fn boot(&self, image: &Image, job: &str, limit: Duration) -> Evidence {
        let directory = TempDir::new().unwrap();
        let at = |name: &str| directory.path().join(name);
        image.pack(job, &at("initrd"));
        let began = Instant::now();
        let mut attempt = 1;
        let console = loop {
            let end = self.run(image.guest(), directory.path(), limit);
            let console = String::from_utf8_lossy(&std::fs::read(at("console")).unwrap_or_default()).into_owned();
            match end {
                End::Off => break console,
                // On a busy host the emulator sometimes never boots the kernel. Nothing that is tested has run by then.
                End::NeverBooted if attempt < BOOTS => eprintln!("boot {attempt} hung, once more\n{console}"),
                End::Failed(status) => panic!("the emulator failed: {status}\n{console}"),
                end => panic!("the machine did not end in {limit:?}: {end:?}\n{console}"),
            }
            attempt += 1;
        };
        let lines = console.lines().skip_while(|line| !line.contains(JOB_BEGINS));
        let job: String = lines.take_while(|line| !line.contains(RESULTS_BEGIN)).map(|l| format!("{l}\n")).collect();
        eprintln!("{job}the machine ran {:.0?}", began.elapsed());
        if image.guest().is_arm() {
            decode(&console, &at("out.tgz"));
        }
        let untar = Command::new("tar").arg("-xzf").arg(at("out.tgz")).current_dir(directory.path()).status().unwrap();
        assert!(untar.success(), "no results came out of the machine\n{console}");
        Evidence { directory }
    }

    /// Runs qemu until the machine is off or the time is up.
    fn run(&self, guest: Guest, directory: &Path, limit: Duration) -> End {
        let file = |name: &str| format!("file:{}", directory.join(name).display());
        let (emulator, arguments) = guest.emulator();
        let mut qemu = Command::new(emulator);
        qemu.args(arguments).args(["-smp", self.smp]).args(self.memory()).args(["-serial", &file("console")]);
        if !guest.is_arm() {
            qemu.args(["-serial", &file("out.tgz")]);
        }
        qemu.arg("-kernel").arg(guest.kernel()).arg("-initrd").arg(directory.join("initrd"));
        qemu.args(["-append", guest.kernel_line()]);
        let boot_limit = Duration::from_secs(guest.boot_limit_s());
        let began = Instant::now();
        let mut child = Ended(qemu.stdin(Stdio::null()).stdout(Stdio::null()).spawn().expect("qemu starts"));
        let mut booted = false;
        loop {
            if let Some(status) = child.0.try_wait().unwrap() {
                return if status.success() { End::Off } else { End::Failed(status) };
            }
            std::thread::sleep(Duration::from_millis(200));
            if !booted {
                let console = std::fs::read(directory.join("console")).unwrap_or_default();
                let console = String::from_utf8_lossy(&console);
                booted = console.contains(JOB_BEGINS);
                if !booted && (console.contains(BOOT_STANDS) || began.elapsed() > boot_limit) {
                    return End::NeverBooted;
                }
            }
            if began.elapsed() > limit {
                return End::TimeUp;
            }
        }
    }

    fn memory(&self) -> Vec<String> {
        let total: u32 = self.nodes.iter().filter_map(|node| node.memory_mib).sum();
        let mut arguments = vec!["-m".to_owned(), format!("{total}M")];
        for (i, node) in self.nodes.iter().enumerate() {
            let mut numa = format!("node,nodeid={i}");
            if let Some(mib) = node.memory_mib {
                arguments.extend(["-object".to_owned(), format!("memory-backend-ram,id=m{i},size={mib}M")]);
                numa.push_str(&format!(",memdev=m{i}"));
            }
            if let Some(cpus) = node.cpus {
                numa.push_str(&format!(",cpus={cpus}"));
            }
            arguments.extend(["-numa".to_owned(), numa]);
        }
        for (from, to, distance) in self.distances {
            arguments.extend(["-numa".to_owned(), format!("dist,src={from},dst={to},val={distance}")]);
        }
        arguments
    }
}

/// Decodes results that were printed as text on the console.
fn decode(console: &str, into: &Path) {
    let lines = console.lines().skip_while(|line| line.trim() != RESULTS_BEGIN).skip(1);
    let text: String = lines.take_while(|line| line.trim() != RESULTS_END).map(|l| format!("{}\n", l.trim())).collect();
    let encoded = into.with_extension("base64");
    std::fs::write(&encoded, text).unwrap();
    let out = std::fs::File::create(into).unwrap();
    let decoded = Command::new("base64").arg("-d").arg(&encoded).stdout(out).status().unwrap();
    assert!(decoded.success(), "no results came out of the machine\n{console}");
}
