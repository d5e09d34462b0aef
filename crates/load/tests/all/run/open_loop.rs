//! Tests of the open loop: latencies and backlog with a server that stalls or is too slow.

use super::*;

/// p90 and p99, ms, of a load of 1 s in which the server stalls once for 400 ms.
fn latency_with_a_stall(pace: Pace) -> (f64, f64) {
    let stall = AtomicBool::new(false);
    let connect = |_: ClientThread| {
        scripted(|_, _| {
            if stall.swap(false, Ordering::SeqCst) {
                nap(400);
            }
            done_after_a_nap(0, &mut Random::new(0, Purpose::Rows, 0))
        })
    };
    let settings = LoadSettings { pace, sample_s: 1.0, ..short(1) };
    let samples = run(&settings, &connect, &mut Flag(&stall)).unwrap();
    assert_eq!(samples[0].backlog.is_some(), pace != Pace::Closed);
    let latency = samples[0].latency_ms.unwrap();
    (latency.p90, latency.p99)
}

#[test]
fn a_stall_shows_in_the_open_loop_and_hides_in_the_closed_one() {
    // p90 instead of p99: on a starved machine, one slow transaction can be more than 1 in 100.
    let (closed, _) = latency_with_a_stall(Pace::Closed);
    assert!(closed < 200.0, "one slow transaction among many: {closed}");
    for arrivals in [Arrivals::Constant, Arrivals::Poisson] {
        let (p90, p99) = latency_with_a_stall(Pace::Open { rate: Curve::Constant(500.0), arrivals });
        assert!(p90 > 200.0 && p99 > 300.0, "two transactions of five were due during the stall: {p90}, {p99}");
    }
}

/// The earliest and the latest time at which transactions of the sample can have become due.
#[derive(Default)]
struct Window(Option<Instant>, Option<Instant>);

impl Observer for Window {
    type Error = Infallible;

    fn connected(&mut self, _: &[ClientThread]) -> Result<(), Infallible> {
        self.0 = Some(Instant::now());
        Ok(())
    }

    fn sample_end(&mut self, _: usize) -> Result<(), Infallible> {
        self.1 = Some(Instant::now());
        Ok(())
    }
}

#[test]
fn an_open_loop_that_cannot_keep_up_reports_its_backlog() {
    let connect = |_: ClientThread| {
        scripted(|_, _| {
            nap(10);
            Ok(Attempt::Done(READ))
        })
    };
    let pace = Pace::Open { rate: Curve::Constant(1000.0), arrivals: Arrivals::Constant };
    let settings = LoadSettings { pace, warmup_s: 0.0, sample_s: 0.5, ..short(2) };
    let mut window = Window::default();
    let samples = run(&settings, &connect, &mut window).unwrap();
    let sample = &samples[0];
    // Exactly the transactions that became due in the sample are completed or in the backlog.
    let accounted = (sample.transactions + sample.backlog.unwrap()) as f64;
    let at_most = window.1.unwrap().duration_since(window.0.unwrap()).as_secs_f64() * 1000.0;
    assert!(accounted >= sample.elapsed_s * 1000.0 - 3.0 && accounted <= at_most + 3.0, "{accounted}: {sample:?}");
    // Two threads with 10 ms per transaction, and one running at each start.
    assert!(sample.transactions as f64 <= sample.elapsed_s * 200.0 + 2.0, "{sample:?}");
    // These latencies include the backlog: most transactions have waited longer than any that was completed in the
    // first half. The client was never late, so its own delay is 0.
    let queued = sample.queued.as_ref().unwrap();
    assert_eq!(queued.measured.each().map(|(_, count)| count as f64).sum::<f64>(), accounted);
    assert_eq!(queued.prompt.each().map(|(_, count)| count as f64).sum::<f64>(), accounted);
    let (measured, prompt) = (queued.measured.mean_ms().unwrap(), queued.prompt.percentile_ms(100.0).unwrap());
    assert!(measured > 150.0 && prompt > 300.0, "{measured} ms, {prompt} ms");
}

#[test]
fn an_open_loop_keeps_its_rate_and_falls_not_behind() {
    let pace = Pace::Open { rate: Curve::Constant(200.0), arrivals: Arrivals::Constant };
    let settings = LoadSettings { pace, warmup_s: 0.2, sample_s: 1.0, ..short(4) };
    let samples = run(&settings, &|_: ClientThread| scripted(done_after_a_nap), &mut Unobserved).unwrap();
    let due = samples[0].elapsed_s * 200.0;
    // A wide tolerance, because a machine may stall; a rate per thread or a closed loop would be far outside.
    assert!((samples[0].transactions as f64 / due - 1.0).abs() < 0.5, "{} of {due}", samples[0].transactions);
}

/// A server that stalls once for 700 ms at the start of the load.
struct Still(bool);

impl Client for Still {
    type Error = Infallible;

    fn transaction(&mut self, _: &mut Random) -> Result<Attempt, Infallible> {
        if std::mem::take(&mut self.0) {
            nap(700);
        }
        Ok(Attempt::Done(READ))
    }
}

#[test]
fn transactions_queued_in_the_warm_up_are_in_no_sample() {
    // 1000 transactions per second are due, and each ends immediately: the queue drains at once, but its transactions
    // have waited for most of the 700 ms.
    let pace = Pace::Open { rate: Curve::Constant(1000.0), arrivals: Arrivals::Constant };
    let settings = LoadSettings { pace, warmup_s: 0.699, sample_s: 1.0, ..short(1) };
    let connect = |_: ClientThread| Ok(Still(true));
    let samples = run(&settings, &connect, &mut Unobserved).unwrap();
    let sample = &samples[0];
    // The 700 transactions of the warm-up would be more than a third of all.
    let due = sample.elapsed_s * 1000.0;
    let accounted = (sample.transactions + sample.backlog.unwrap()) as f64;
    assert!((accounted - due).abs() <= 3.0, "{accounted} of {due}: {sample:?}");
    // A machine that stalls delays some, but not for as long as most transactions of the warm-up waited.
    let p50 = sample.latency_ms.unwrap().p50;
    assert!(p50 < 100.0, "{p50} ms");
}

#[test]
fn transactions_due_in_the_sample_include_a_stall_that_began_before_it() {
    let pace = Pace::Open { rate: Curve::Constant(1000.0), arrivals: Arrivals::Constant };
    let settings = LoadSettings { pace, warmup_s: 0.2, sample_s: 1.0, ..short(1) };
    let connect = |_: ClientThread| Ok(Still(true));
    let samples = run(&settings, &connect, &mut Unobserved).unwrap();
    let latency = samples[0].latency_ms.unwrap();
    // Half of the sample's transactions were due while the server stalled.
    assert!(latency.p90 > 200.0 && latency.max > 400.0 && latency.max < 900.0, "{latency:?}");
}

#[test]
fn slices_of_a_rising_rate_hold_all_that_was_due_in_them_also_what_was_not_done() {
    // 10 ms per transaction: the rates of two of three steps exceed what one thread can do, so its queue grows in them.
    let connect = |_: ClientThread| {
        scripted(|_, _| {
            nap(10);
            Ok(Attempt::Done(READ))
        })
    };
    let rate = Curve::Steps { from: 20.0, to: 400.0, steps: 3 };
    let pace = Pace::Open { rate, arrivals: Arrivals::Constant };
    let settings = LoadSettings { pace, warmup_s: 0.2, sample_s: 0.6, samples: 2, ..short(1) };
    let samples = run(&settings, &connect, &mut Unobserved).unwrap();
    for sample in &samples {
        let slices = &sample.slices;
        let rates: Vec<f64> = slices.iter().map(|slice| slice.rate.round()).collect();
        assert_eq!(rates, [20.0, 210.0, 400.0]);
        for slice in slices {
            let due = slice.latencies.count() as f64;
            assert!((due - slice.rate * 0.2).abs() <= 1.0, "{due} at {}", slice.rate);
        }
        // Transactions that were due first wait least: each sample restarts its curve, with the previous queue.
        assert!(slices[2].tps < 0.5 * slices[2].rate, "{slices:?}");
    }
    let latency = |slice: usize| samples[0].slices[slice].latency_ms.unwrap().p50;
    assert!(latency(0) < latency(1), "{:?}", samples[0].slices);
    assert_eq!(run(&short(1), &connect, &mut Unobserved).unwrap()[0].slices, []);
}

#[test]
fn an_idle_client_is_polled_again_and_its_idle_time_is_in_no_latency() {
    struct Idle(u32);
    impl Client for Idle {
        type Error = Infallible;

        fn transaction(&mut self, _: &mut Random) -> Result<Attempt, Infallible> {
            Ok(Attempt::Done(READ))
        }

        fn idle(&mut self) -> Option<Duration> {
            self.0 += 1;
            (!self.0.is_multiple_of(3)).then_some(Duration::from_millis(20))
        }
    }
    let samples = run(&short(1), &|_: ClientThread| Ok(Idle(0)), &mut Unobserved).unwrap();
    let (transactions, latency) = (samples[0].transactions, samples[0].latency_ms.unwrap());
    assert!(transactions <= 9 && latency.p50 < 20.0, "twice 20 ms before each: {transactions}, {latency:?}");
}
