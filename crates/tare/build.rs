//! Links the programs of a debug build at a fixed address: tests start tare thousands of times, and relocation was half
//! of the CPU time of a start.

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    if std::env::var("PROFILE").as_deref() == Ok("debug") {
        println!("cargo::rustc-link-arg=-no-pie");
    }
}
