//! The processor of a virtual machine, with its emulator, console and programs.

use std::path::PathBuf;

use crate::numa::image;
use crate::support::target;

/// A processor, in software emulation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Guest {
    /// The architecture of the host, whose own programs run in the machine.
    X86_64,
    /// 64-bit Arm: cross-built programs, and libraries of the distribution for that architecture.
    Aarch64,
}

/// The directory of `scripts/setup arm` and `scripts/arm-build`, below the target directory.
const ARM_TARGET: &str = "aarch64-unknown-linux-gnu";

impl Guest {
    pub fn is_arm(self) -> bool {
        self == Self::Aarch64
    }

    /// The command that makes missing files.
    pub fn setup(self) -> &'static str {
        if self.is_arm() { "make arm" } else { "scripts/setup numa" }
    }

    fn folder(self) -> PathBuf {
        target().join(if self.is_arm() { "arm-machine" } else { "numa-machine" })
    }

    /// The kernel that the setup unpacked.
    pub fn kernel(self) -> PathBuf {
        let boot = self.folder().join("boot");
        let names = std::fs::read_dir(&boot).into_iter().flatten().filter_map(|entry| Some(entry.ok()?.path()));
        let kernel =
            names.max().filter(|path| path.file_name().is_some_and(|n| n.as_encoded_bytes().starts_with(b"vmlinuz")));
        kernel.unwrap_or_else(|| panic!("no kernel in {}; get it with: {}", boot.display(), self.setup()))
    }

    /// The unpacked packages of the other architecture.
    pub fn root(self) -> PathBuf {
        self.folder().join("root")
    }

    pub fn tare(self) -> PathBuf {
        match self {
            Self::X86_64 => PathBuf::from(env!("CARGO_BIN_EXE_tare")),
            Self::Aarch64 => target().join(ARM_TARGET).join("debug/tare"),
        }
    }

    /// The emulator and its arguments that do not depend on nodes or files.
    pub fn emulator(self) -> (PathBuf, Vec<&'static str>) {
        let common =
            ["-accel", "tcg,thread=multi", "-display", "none", "-monitor", "none", "-nic", "none", "-no-reboot"];
        match self {
            // With an AMD processor, which max is on an AMD host, hardware threads would not be visible. Wide registers
            // are off, because the emulator handles them in pieces and the C library would use them for every string.
            Self::X86_64 => (
                image::find("qemu-system-x86_64", "qemu-system-x86"),
                [&common[..], &["-cpu", "max,vendor=GenuineIntel,avx=off,avx2=off,f16c=off,fma=off"]].concat(),
            ),
            Self::Aarch64 => (
                image::find("qemu-system-aarch64", "qemu-system-arm"),
                [&common[..], &["-M", "virt", "-cpu", "cortex-a72"]].concat(),
            ),
        }
    }

    /// The kernel command line. Huge pages would not be even over the nodes with little data. Mitigations are off,
    /// because separate page tables of the kernel slow every system call down in emulation. With random addresses the
    /// emulator would translate every program anew for each process: a trial takes twice as long.
    pub fn kernel_line(self) -> &'static str {
        match self {
            Self::X86_64 => {
                "console=ttyS0 earlyprintk=serial panic=-1 no_timer_check transparent_hugepage=never \
                 mitigations=off norandmaps"
            }
            Self::Aarch64 => "console=ttyAMA0 panic=-1 transparent_hugepage=never norandmaps",
        }
    }

    /// The first process. An Arm machine has one serial port, so the results follow the job's own lines.
    pub fn init(self) -> String {
        let init = include_str!("guest/init");
        if !self.is_arm() {
            return init.to_owned();
        }
        let (before, after) = init.split_once("stty -F /dev/ttyS1").expect("where results are handed over");
        let (_, after) = after.split_once("/dev/ttyS1\n").expect("the end of handing over");
        let over = format!("dmesg -n 1\necho {RESULTS_BEGIN}\ntar -C /out -czf - . | base64\necho {RESULTS_END}\n");
        format!("{before}{over}{after}").replace("ttyS0", "ttyAMA0")
    }

    /// The longest time until the job begins: ten times that of a quiet host.
    pub fn boot_limit_s(self) -> u64 {
        match self {
            Self::X86_64 => 90,
            Self::Aarch64 => 150,
        }
    }
}

/// The line before results in text form.
pub const RESULTS_BEGIN: &str = "results-begin";
/// The line after them.
pub const RESULTS_END: &str = "results-end";
