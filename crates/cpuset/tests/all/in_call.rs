//! Tests of `InCall`: real threads, and generated lines in all formats of the kernel.

use proptest::prelude::*;
use std::io::Read;
use std::os::fd::AsRawFd;
use std::os::unix::net::UnixStream;
use std::sync::mpsc::channel;
use std::time::{Duration, Instant};
use tare_cpuset::ThreadRef;
use tare_cpuset::observe::{Call, InCall, InCallFile, ObserveError, in_call};

fn until(file: &InCallFile, wanted: impl Fn(InCall) -> bool) {
    let deadline = Instant::now() + Duration::from_secs(10);
    while !wanted(file.read().unwrap()) {
        assert!(Instant::now() < deadline, "{:?}", file.read());
        std::thread::sleep(Duration::from_millis(1));
    }
}

#[test]
fn a_thread_is_seen_to_sleep_in_its_call_to_run_and_to_end() {
    let (mut one, mut other) = UnixStream::pair().unwrap();
    let descriptor = u64::try_from(one.as_raw_fd()).unwrap();
    let (sender, receiver) = channel();
    let reader = std::thread::spawn(move || {
        sender.send(ThreadRef::of_this_thread()).unwrap();
        one.read_exact(&mut [0; 1]).unwrap();
        while one.read(&mut [0; 1]).unwrap() > 0 {}
    });
    let thread = receiver.recv().unwrap();
    let file = InCallFile::open(thread).unwrap();
    until(&file, |seen| matches!(seen, InCall::Call(Call { arguments, .. }) if arguments[0] == descriptor));
    // The same open file again: each read starts at its beginning and returns the present state.
    std::io::Write::write_all(&mut other, &[0; 1]).unwrap();
    until(&file, |seen| matches!(seen, InCall::Call(_)));
    drop(other);
    reader.join().unwrap();
    // The kernel removes the thread a moment after the join.
    let deadline = Instant::now() + Duration::from_secs(10);
    while !matches!(file.read(), Err(ObserveError::Gone { .. })) {
        assert!(Instant::now() < deadline, "{:?}", file.read());
        std::thread::sleep(Duration::from_millis(1));
    }
    assert!(matches!(in_call(thread), Err(ObserveError::Gone { .. })));
    assert_eq!("running\n".parse(), Ok(InCall::Running));
}

#[test]
fn lines_of_other_formats_are_refused() {
    assert_eq!("-1 0x7ffe 0x7f00\n".parse(), Ok(InCall::Outside));
    for text in ["", "\n", "runs", "7", "7 0x1 0x2", "-1", "-1 0x1", "7 1 0x0 0x0 0x0 0x0 0x0 0x0 0x0"] {
        assert!(text.parse::<InCall>().is_err(), "{text}");
    }
    for text in ["running 1", "7 0x0 0x0 0x0 0x0 0x0 0x0 0x0 0x0 0x0", "7 0x+1 0x0 0x0 0x0 0x0 0x0 0x0 0x0"] {
        assert!(text.parse::<InCall>().is_err(), "{text}");
    }
}

proptest! {
    #[test]
    fn every_line_that_the_kernel_writes_is_parsed(
        number in 0_i64..i64::MAX, arguments in any::<[u64; 6]>(), stack: u64, program: u64
    ) {
        let words: Vec<String> = arguments.iter().chain([&stack, &program]).map(|word| format!("0x{word:x}")).collect();
        let text = format!("{number} {}\n", words.join(" "));
        prop_assert_eq!(text.parse(), Ok(InCall::Call(Call { number, arguments, stack, program })));
        // A truncated line is an error.
        let cut = text.trim_end().rsplit_once(' ').unwrap().0;
        prop_assert!(cut.parse::<InCall>().is_err());
        let outside = format!("-1 0x{stack:x} 0x{program:x}\n").parse();
        prop_assert_eq!(outside, Ok(InCall::Outside));
    }

    #[test]
    fn no_text_makes_it_panic(text in "[-0-9a-fxrunig+ \n]{0,120}") {
        let _ = text.parse::<InCall>();
    }
}
