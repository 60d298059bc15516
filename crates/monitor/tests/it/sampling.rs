//! The sampler: what is slow or away is marked and holds up nothing, and nothing grows without
//! bound. How long anything takes is not asserted.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{self, Receiver, Sender};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use plimsoll_monitor::collector::CollectError;
use plimsoll_monitor::{
    Collector, Sample, Sampler, SamplerError, Samples, Sampling, Source, Watched,
};

/// Longer than any host needs.
const LONG: Duration = Duration::from_secs(60);

type Handed = (u64, Samples);

fn start(watched: Vec<Watched>, most_series: usize) -> (Sampler, Receiver<Handed>) {
    let sampling = Sampling { period: Duration::from_millis(20), seed: 7, most_series };
    let (sender, handed) = mpsc::channel();
    let time = AtomicU64::new(0);
    let clock = Arc::new(move || time.fetch_add(1, Ordering::Relaxed));
    let hand = move |at_ns, samples: &Samples| {
        // The test may have seen enough.
        let _ = sender.send((at_ns, samples.clone()));
    };
    (Sampler::start(watched, sampling, clock, hand).unwrap(), handed)
}

/// What a collector handed on next, up or down.
fn next_of(handed: &Receiver<Handed>, collector: &str) -> Handed {
    loop {
        let next = handed.recv_timeout(LONG).expect("sampling goes on");
        if up(&next.1, collector).is_some() {
            return next;
        }
    }
}

/// What a collector gave next. On a busy host a reading may be held up, and is marked then.
fn next_read_of(handed: &Receiver<Handed>, collector: &str) -> Handed {
    let mut all = std::iter::repeat_with(|| next_of(handed, collector));
    all.find(|(_, samples)| up(samples, collector) == Some(true)).expect("there is always a next")
}

fn up(samples: &Samples, collector: &str) -> Option<bool> {
    let up = samples.value("plimsoll_collector_up", &[("collector", collector)]);
    up.map(|up| up > 0.5)
}

/// Gives how many times it was asked.
struct Steady(u64);

impl Collector for Steady {
    fn collect(&mut self, out: &mut Samples) -> Result<(), CollectError> {
        self.0 += 1;
        out.push_foreign("steady", [], self.0 as f64);
        Ok(())
    }
}

/// Stands still until it is told to go on.
struct Stuck(Receiver<()>, Steady);

impl Collector for Stuck {
    fn collect(&mut self, out: &mut Samples) -> Result<(), CollectError> {
        let _ = self.0.recv();
        self.1.collect(out)
    }
}

fn steady(name: &'static str) -> Watched {
    Watched::new(name, None, Box::new(Steady(0)))
}

fn stuck(name: &'static str) -> (Watched, Sender<()>) {
    let (go_on, told) = mpsc::channel();
    (Watched::new(name, None, Box::new(Stuck(told, Steady(0)))), go_on)
}

#[test]
fn each_collector_is_sampled_once_a_period_with_its_time_and_success() {
    let (sampler, handed) = start(vec![steady("a"), steady("b")], 100);
    let mut before = None;
    for _ in 0..5 {
        let (at_ns, samples) = next_read_of(&handed, "a");
        let now = (at_ns, samples.value("steady", &[]).unwrap());
        let rises = before.is_none_or(|(at_ns, count)| at_ns < now.0 && count < now.1);
        assert!(rises, "{before:?}, then {now:?}");
        before = Some(now);
        let of_a = [("collector", "a")];
        assert!(samples.value("plimsoll_collect_seconds", &of_a).is_some_and(|took| took >= 0.0));
        assert_eq!(samples.value("plimsoll_collect_left_out", &of_a), Some(0.0));
        assert!(samples.faults().is_empty(), "{samples:?}");
    }
    assert_eq!(sampler.series_left_out(), 0);
}

#[test]
fn a_collector_that_stands_still_is_marked_and_holds_up_no_other() {
    let (stuck, go_on) = stuck("stuck");
    let (_sampler, handed) = start(vec![stuck, steady("steady")], 100);
    let (mut marks, mut samples_of_steady) = (0, 0);
    while marks < 3 || samples_of_steady < 5 {
        let (_, samples) = handed.recv_timeout(LONG).expect("sampling goes on");
        samples_of_steady += u32::from(up(&samples, "steady") == Some(true));
        if up(&samples, "stuck") == Some(false) {
            marks += 1;
            let [fault] = samples.faults() else { panic!("one fault in {samples:?}") };
            assert!(fault.is_down && fault.collector == "stuck");
            assert!(fault.reason.starts_with("its last reading has not ended for "), "{fault:?}");
        }
    }
    // Its late reading is older than what was handed on since: a later one is the first to count.
    drop(go_on);
    let (_, first) = next_read_of(&handed, "stuck");
    assert!(first.value("steady", &[]).is_some_and(|count| count > 1.0), "{first:?}");
}

#[test]
fn a_source_that_is_away_or_partly_understood_is_marked() {
    let place = tempfile::tempdir().unwrap();
    std::fs::create_dir_all(place.path().join("proc")).unwrap();
    std::fs::write(place.path().join("proc/loadavg"), "0.50 0.25 what 1/99 7\n").unwrap();
    let root = place.path().to_owned();
    let host = Watched::open("host", &Source { root, ..Source::default() }).unwrap();
    let away = Source {
        cgroup: vec![PathBuf::from("/no/such/cgroup")],
        instance: Some("web1".to_owned()),
        ..Source::default()
    };
    let away = Watched::open("cgroup", &away).unwrap();
    let (_sampler, handed) = start(vec![host, away], 100);
    for _ in 0..2 {
        let (_, samples) = next_of(&handed, "cgroup");
        assert_eq!(up(&samples, "cgroup"), Some(false));
        if samples.faults().iter().any(|fault| fault.reason.starts_with("its last reading")) {
            let test = "a_source_that_is_away_or_partly_understood_is_marked";
            plimsoll_testing::not_judged(test, "a reading was held up, as the host was busy");
            continue;
        }
        let [fault] = samples.faults() else { panic!("one fault in {samples:?}") };
        assert_eq!(fault.instance.as_deref(), Some("web1"));
        assert_eq!(fault.reason, "read /no/such/cgroup: there is no such file or folder");
        let (_, samples) = next_read_of(&handed, "host");
        let left_out = samples.value("plimsoll_collect_left_out", &[("collector", "host")]);
        assert_eq!(left_out, Some(1.0));
        let [fault] = samples.faults() else { panic!("one fault in {samples:?}") };
        assert!(!fault.is_down && fault.reason.contains("field 3 of proc/loadavg"), "{fault:?}");
    }
}

/// Gives new series each time.
struct Growing(u64);

impl Collector for Growing {
    fn collect(&mut self, out: &mut Samples) -> Result<(), CollectError> {
        for _ in 0..50 {
            self.0 += 1;
            out.push_foreign("growing", [("n", self.0.to_string().as_str())], 1.0);
        }
        Ok(())
    }
}

#[test]
fn series_beyond_the_most_are_counted_and_not_kept() {
    let growing = Watched::new("growing", None, Box::new(Growing(0)));
    let (sampler, handed) = start(vec![growing], 100);
    let mut kept = BTreeSet::new();
    let (mut said, mut reasons) = (0.0, BTreeSet::new());
    for _ in 0..5 {
        let (_, samples) = next_read_of(&handed, "growing");
        let series = |sample: &Sample| (sample.name.clone(), sample.labels.clone());
        kept.extend(samples.iter().map(series));
        said = samples.value("plimsoll_series_left_out", &[]).unwrap_or(said);
        reasons.extend(samples.faults().iter().map(|fault| fault.reason.clone()));
    }
    assert_eq!(kept.len(), 100, "the sampler's own four are among them");
    assert!((said - (250.0 - 96.0)).abs() < 0.5, "{said} were left out");
    assert_eq!(reasons, BTreeSet::from(["left out series beyond the most of 100".to_owned()]));
    assert!(sampler.series_left_out() >= 250 - 96);
    drop(sampler);
}

#[test]
fn nothing_is_handed_on_after_the_end_and_one_that_stands_still_is_left() {
    let (stuck, go_on) = stuck("stuck");
    let ended = Arc::new(Mutex::new(false));
    let in_hand = Arc::clone(&ended);
    let sampling = Sampling { period: Duration::from_millis(5), ..Sampling::default() };
    let (sender, handed) = mpsc::channel();
    let hand = move |_, samples: &Samples| {
        assert!(!*in_hand.lock().unwrap(), "handed on after the end");
        let _ = sender.send((0, samples.clone()));
    };
    let watched = vec![stuck, steady("steady")];
    let sampler = Sampler::start(watched, sampling, Arc::new(|| 0), hand).unwrap();
    next_of(&handed, "steady");
    drop(sampler);
    *ended.lock().unwrap() = true;
    while let Ok(last) = handed.try_recv() {
        drop(last);
    }
    // The other end is gone with the thread that handed on.
    assert_eq!(handed.recv(), Err(mpsc::RecvError));
    drop(go_on);
}

#[test]
fn a_period_of_zero_is_refused() {
    let sampling = Sampling { period: Duration::ZERO, ..Sampling::default() };
    let refused = Sampler::start(Vec::new(), sampling, Arc::new(|| 0), |_, _| {});
    assert!(matches!(refused, Err(SamplerError::NoPeriod)), "{refused:?}");
}

/// Lines are sent while nobody reads, and are all there at the next reading.
#[test]
#[expect(clippy::disallowed_methods, reason = "datagrams are taken by the kernel's clock")]
fn lines_of_statsd_are_taken_as_they_come() {
    let at = plimsoll_testing::free_address();
    let source = Source { address: Some(at.to_string()), ..Source::default() };
    let mut statsd = Watched::open("statsd", &source).unwrap();
    assert!(statsd.collect().unwrap().is_empty());
    let sender = std::net::UdpSocket::bind("127.0.0.1:0").unwrap();
    for _ in 0..500 {
        sender.send_to(b"jobs:2|c|#kind:mail\nqueue:7|g\nnonsense", at).unwrap();
    }
    // Each datagram was taken, with a line that is nonsense, or dropped by the kernel.
    let (mut jobs, mut left_out) = (0.0, 0);
    for _ in 0..1_000 {
        let samples = statsd.collect().unwrap();
        left_out += samples.left_out();
        jobs = samples.value("jobs_total", &[("kind", "mail")]).unwrap_or(0.0);
        assert!(samples.value("queue", &[]).is_none_or(|of| (of - 7.0).abs() < 1e-9));
        if left_out >= 500 {
            break;
        }
        // tidy: allow(waits, a pause between datagrams)
        std::thread::sleep(std::time::Duration::from_millis(10));
    }
    assert_eq!(left_out, 500);
    assert!((2.0..=1_000.0).contains(&jobs), "{jobs}");
    for address in ["0.0.0.0:8125", "192.0.2.1:8125", "localhost", "127.0.0.1"] {
        let source = Source { address: Some(address.to_owned()), ..Source::default() };
        assert!(Watched::open("statsd", &source).is_err(), "{address}");
    }
}

#[test]
fn collectors_join_and_leave_while_others_go_on() {
    let (sampler, handed) = start(vec![steady("first")], 100);
    next_read_of(&handed, "first");
    let door = sampler.door();
    let of =
        |instance: &str| Watched::new("second", Some(instance.to_owned()), Box::new(Steady(0)));
    door.joins(of("web-1"));
    door.joins(of("web-2"));
    next_read_of(&handed, "second");
    next_read_of(&handed, "first");
    door.leaves("web-1");
    door.leaves("web-2");
    // What was being read is still handed on; then the first is alone, a good while.
    let mut alone = 0;
    while alone < 10 {
        let (_, samples) = handed.recv_timeout(LONG).expect("sampling goes on");
        alone = if up(&samples, "second").is_some() { 0 } else { alone + 1 };
    }
    // Who has joined after all is over is not heard.
    drop(sampler);
    door.joins(of("web-3"));
}
