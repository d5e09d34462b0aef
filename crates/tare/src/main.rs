//! The `tare` executable: parse, run, render the error.

fn main() -> std::process::ExitCode {
    tare::cli::main()
}
