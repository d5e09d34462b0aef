//! Which processor a virtual machine has, and what follows from that: emulator, console, programs.

use std::path::PathBuf;

use crate::numa::image;
use crate::support::target;

/// A processor, in software emulation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Guest {
    /// That of the host, whose own programs run in it.
    X86_64,
    /// 64-bit Arm: cross-built programs, libraries of the distribution's other architecture.
    Aarch64,
}

/// Where `scripts/setup arm` and `scripts/arm-build` put things, below the target directory.
const ARM_TARGET: &str = "aarch64-unknown-linux-gnu";

impl Guest {
    pub fn is_arm(self) -> bool {
        self == Self::Aarch64
    }

    /// The command that makes what is missing.
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

    /// The other architecture's packages, unpacked.
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
            // An AMD processor, which max is on an AMD host, would not show its hardware threads. The emulator works
            // wide registers off in pieces, and without them the C library does not use them for every string.
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

    /// What its kernel is told: small data in huge pages would be few lumps, not even over the nodes. Without
    /// mitigations: the kernel's own page tables make every system call dearer in emulation.
    pub fn kernel_line(self) -> &'static str {
        match self {
            Self::X86_64 => {
                "console=ttyS0 earlyprintk=serial panic=-1 no_timer_check transparent_hugepage=never \
                 mitigations=off"
            }
            Self::Aarch64 => "console=ttyAMA0 panic=-1 transparent_hugepage=never",
        }
    }

    /// Its first process. An Arm machine has one serial port, on which results come after the job's own lines.
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

    /// How long it may take until its job begins: ten times what a quiet host needs.
    pub fn boot_limit_s(self) -> u64 {
        match self {
            Self::X86_64 => 90,
            Self::Aarch64 => 150,
        }
    }
}

/// Lines around results that come as text.
pub const RESULTS_BEGIN: &str = "results-begin";
/// The line after them.
pub const RESULTS_END: &str = "results-end";
