//! Runs made up from a formula: a ramp with a warm-up, a stall and some answers of 503, written
//! through the same writer as a real one. The same course gives the same files.

use std::path::Path;

use plimsoll_runs::{
    Class, Counters, End, Ended, ErrorKind, Event, FigureRow, HostSample, Interval, Kind, LoadMeta,
    Names, Phase, Run, RunMeta, RunWriter, Sink, Tag, World,
};
use plimsoll_stats::Histogram;

const S: u64 = 1_000_000_000;
const DRAIN_NS: u64 = 800_000_000;

/// What a made-up run is like.
#[derive(Debug, Clone)]
pub(crate) struct Course {
    pub(crate) id: String,
    pub(crate) name: String,
    pub(crate) subject: String,
    pub(crate) plan: String,
    pub(crate) slo: Option<String>,
    pub(crate) warmup_s: u64,
    pub(crate) measured_s: u64,
    /// Requests due per second at the start and at the end.
    pub(crate) rate: (f64, f64),
    /// The median of the faster answers.
    pub(crate) fast_us: f64,
    /// From which second of the run nothing is answered, and for how long.
    pub(crate) stall: Option<(u64, u64)>,
    /// Seconds with answers of 503, and their share.
    pub(crate) refusing: Option<(u64, u64, f64)>,
    /// How late the generator is, in the median.
    pub(crate) late_us: f64,
    /// How many requests of the last second are answered only after it.
    pub(crate) drained: u64,
    /// Only so many seconds are written, and no end.
    pub(crate) killed_after: Option<u64>,
    pub(crate) warnings: Vec<String>,
    pub(crate) world: World,
    pub(crate) kind: Kind,
    /// Figures beside those of its load.
    pub(crate) figures: Vec<FigureRow>,
}

impl Course {
    /// A short, quiet run without requests.
    pub(crate) fn quiet(id: &str) -> Self {
        Self {
            id: id.to_owned(),
            name: String::new(),
            subject: "http://127.0.0.1:8080/".to_owned(),
            plan: "[target]\nurl = \"http://127.0.0.1:8080/\"\n\n[load]\nrate = \"20/s\"\n\
                   for = \"10s\"\n"
                .to_owned(),
            slo: None,
            warmup_s: 0,
            measured_s: 12,
            rate: (20.0, 20.0),
            fast_us: 1500.0,
            stall: None,
            refusing: None,
            late_us: 12.0,
            drained: 0,
            killed_after: None,
            warnings: Vec::new(),
            world: World::Live,
            kind: Kind::Load,
            figures: Vec::new(),
        }
    }

    /// Two minutes of a ramp with everything that can be seen in a report.
    pub(crate) fn ramp(id: &str) -> Self {
        Self {
            name: "shop, ramp to 600".to_owned(),
            subject: "http://shop.internal:8080/catalogue".to_owned(),
            plan: "# The catalogue under a ramp.\nname = \"shop, ramp to 600\"\nseed = 7\n\n\
                   [target]\nurl = \"http://shop.internal:8080/catalogue\"\n\n[load]\n\
                   schedule = \"100/s for 10s, 100/s..600/s in 1m30s, 600/s for 20s\"\n\
                   arrivals = \"poisson\"\nconnections = \"64..256\"\nwarm_up = \"10s\"\n\n\
                   [measure]\nslo = \"p99<250ms, p90<40ms, errors<1%, availability>=99%\"\n"
                .to_owned(),
            slo: Some("p99<250ms, p90<40ms, errors<1%, availability>=99%".to_owned()),
            warmup_s: 10,
            measured_s: 110,
            rate: (100.0, 600.0),
            stall: Some((64, 3)),
            refusing: Some((92, 112, 0.04)),
            drained: 9,
            warnings: vec![
                "The host gave 0.8% of its time to others: figures below 1 ms are less certain."
                    .to_owned(),
            ],
            ..Self::quiet(id)
        }
    }

    /// Writes the run below `root` and opens it.
    pub(crate) fn write(&self, root: &Path) -> Run {
        let mut writer = RunWriter::create(root, &self.meta()).unwrap();
        let path = writer.path().to_owned();
        let mut maker = Maker { course: self, seed: 0x9e37_79b9, waiting: Vec::new() };
        let seconds = self.killed_after.unwrap_or(self.warmup_s + self.measured_s);
        for second in 0..seconds {
            writer.interval(&maker.second(second)).unwrap();
            let late = spread(&mut maker.seed, 55_000.0, 40);
            let steal_share = Some(if second % 17 == 0 { 0.03 } else { 0.002 });
            let sample = HostSample { steal_share, timer_late: &late };
            writer.host((second + 1) * S, &sample).unwrap();
        }
        if self.killed_after.is_some() {
            drop(writer);
            return Run::open(&path).unwrap();
        }
        if self.drained > 0 {
            writer.interval(&maker.drain(seconds)).unwrap();
        }
        let text = "the schedule was offered to its end".to_owned();
        let (class, kind) = (Class::Run, "finished".to_owned());
        writer.event(&Event { at_ns: seconds * S, class, kind, text }).unwrap();
        let end = End {
            drain_ns: if self.drained > 0 { DRAIN_NS } else { 0 },
            max_rss_bytes: Some(7_400_000),
            cpu_ns: seconds * 31_000_000,
            warnings: self.warnings.clone(),
            ..End::new(Ended::Complete)
        };
        writer.figures(&self.figures).unwrap();
        writer.finish(end).unwrap()
    }

    fn meta(&self) -> RunMeta {
        RunMeta {
            id: self.id.clone(),
            name: self.name.clone(),
            subject: self.subject.clone(),
            about: String::new(),
            factors: std::collections::BTreeMap::new(),
            tags: [].into(),
            kind: self.kind,
            cell: 0,
            started_unix_ns: 1_793_000_000 * S,
            version: "0.1.0".to_owned(),
            seed: 7,
            plan_text: self.plan.clone(),
            plan_sha256: "7d865e959b2466918c9863afca942d0fb89d7c9ac0c99bafc3749504ded97730"
                .to_owned(),
            inputs_sha256: None,
            warmup_ns: self.warmup_s * S,
            duration_ns: self.measured_s * S,
            slo: self.slo.clone(),
            load: Some(LoadMeta {
                workload: None,
                threads: 1,
                pacing: "precise".to_owned(),
                patience_ns: S,
                samples: false,
                names: Names::default(),
            }),
            world: self.world,
            host: vec![
                ("kernel".to_owned(), "Linux 6.1.0".to_owned()),
                ("cpu".to_owned(), "2 × Example 2.4 GHz".to_owned()),
                ("memory".to_owned(), "3.8 GiB".to_owned()),
            ],
        }
    }
}

/// One step of a generator of numbers: a linear congruence (Knuth's MMIX), its upper half.
fn uniform(seed: &mut u64) -> f64 {
    *seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
    (*seed >> 33) as f64 / (1u64 << 31) as f64
}

/// About normal, without transcendental functions: the same bits on every machine.
fn normal(seed: &mut u64) -> f64 {
    (0..12).map(|_| uniform(seed)).sum::<f64>() - 6.0
}

fn spread(seed: &mut u64, middle_ns: f64, n: u64) -> Histogram {
    let mut histogram = Histogram::new();
    for _ in 0..n {
        histogram.record(scaled(seed, middle_ns));
    }
    histogram
}

/// A value around `middle`, with a tail to the right.
fn scaled(seed: &mut u64, middle: f64) -> u64 {
    let z = normal(seed) * 0.28;
    let factor = 1.0 + z + z * z / 2.0 + z * z * z / 6.0 + z * z * z * z / 24.0;
    (middle * factor.max(0.05)) as u64
}

struct Maker<'a> {
    course: &'a Course,
    seed: u64,
    /// Due times of what waits behind a stall.
    waiting: Vec<u64>,
}

impl Maker<'_> {
    fn phase_of(&self, due_ns: u64) -> Phase {
        if due_ns < self.course.warmup_s * S { Phase::WarmUp } else { Phase::Measured }
    }

    fn rate(&self, second: u64) -> f64 {
        let (from, to) = self.course.rate;
        let length = (self.course.measured_s as f64).max(1.0);
        let share = second.saturating_sub(self.course.warmup_s) as f64 / length;
        from + (to - from) * (share * 1.2).min(1.0)
    }

    fn second(&mut self, second: u64) -> Interval {
        let mut interval = Interval { start_ns: second * S, len_ns: S, ..Interval::default() };
        let stalled = |s: u64| {
            self.course.stall.is_some_and(|(from, length)| (from..from + length).contains(&s))
        };
        let (now, before) = (stalled(second), second > 0 && stalled(second - 1));
        let n = self.rate(second).round() as u64;
        if before && !now {
            for due_ns in std::mem::take(&mut self.waiting) {
                let done_ns = second * S + (uniform(&mut self.seed) * 4e8) as u64;
                self.answer(
                    &mut interval,
                    due_ns,
                    done_ns - due_ns,
                    done_ns - due_ns - 500_000,
                    0.0,
                );
            }
        }
        let refused = match self.course.refusing {
            Some((from, to, share)) if (from..to).contains(&second) => share,
            _ => 0.0,
        };
        let load = n as f64 / 700.0;
        for k in 0..n {
            let due_ns = second * S + k * S / n;
            let phase = self.phase_of(due_ns);
            for counters in [&mut interval.events, &mut interval.phases[phase as usize].counters] {
                counters.offered += 1;
            }
            let last = second + 1 == self.course.warmup_s + self.course.measured_s;
            if now || (last && k + self.course.drained >= n) {
                self.waiting.push(due_ns);
                continue;
            }
            let slow = uniform(&mut self.seed) < 0.25;
            let middle = self.course.fast_us * 1e3 / (1.0 - load * load);
            let took = scaled(&mut self.seed, if slow { middle * 6.0 } else { middle });
            self.answer(&mut interval, due_ns, took, 0, refused);
        }
        self.states(&mut interval, second, n);
        interval
    }

    /// What comes after the schedule's end.
    fn drain(&mut self, second: u64) -> Interval {
        let mut interval =
            Interval { start_ns: second * S, len_ns: DRAIN_NS, ..Interval::default() };
        for due_ns in std::mem::take(&mut self.waiting) {
            let done_ns = second * S + scaled(&mut self.seed, 300_000_000.0);
            self.answer(&mut interval, due_ns, done_ns - due_ns, 0, 0.0);
        }
        self.states(&mut interval, second, 0);
        interval.len_ns = DRAIN_NS;
        interval
    }

    fn answer(&mut self, interval: &mut Interval, due_ns: u64, took: u64, wait: u64, refused: f64) {
        let phase = self.phase_of(due_ns);
        let late = scaled(&mut self.seed, self.course.late_us * 1e3);
        let bad = uniform(&mut self.seed) < refused;
        let took = took + late;
        let service = took - late - wait;
        let slice = &mut interval.phases[phase as usize];
        for counters in [&mut interval.events, &mut slice.counters] {
            count(counters, bad);
        }
        for (tag, value) in [
            (Tag::Response, took),
            (Tag::Service, service),
            (Tag::Ttfb, service * 9 / 10),
            (Tag::ConnectionWait, wait),
            (Tag::Lateness, late),
        ] {
            slice.histograms[tag as usize].record(value);
        }
        if bad {
            slice.histograms[Tag::FailedResponse as usize].record(took);
            slice.histograms[Tag::FailedService as usize].record(service);
        }
    }

    fn states(&mut self, interval: &mut Interval, second: u64, n: u64) {
        let waiting = self.waiting.len() as u64;
        interval.in_flight = if waiting > 0 { 64 } else { n / 80 };
        interval.waiting = waiting.saturating_sub(64);
        interval.oldest_outstanding_ns =
            self.waiting.first().map_or(2_000_000, |due| (second + 1) * S - due);
        interval.connections = 64 + n / 20;
        interval.opened = if second == 0 { 64 } else { n % 3 };
        interval.rtt_ns = scaled(&mut self.seed, 85_000.0);
        interval.turn = spread(&mut self.seed, 9_000.0, 50);
        interval.busy_ns = n * 21_000;
        interval.thread_ns = S;
        interval.cpu_ns = n * 30_000;
    }
}

fn count(counters: &mut Counters, bad: bool) {
    counters.sent += 1;
    counters.completed += 1;
    counters.bytes_in += 1_862;
    counters.bytes_out += 118;
    if bad {
        counters.status(503);
        counters.error(ErrorKind::Status);
    } else {
        counters.status(200);
        counters.succeeded += 1;
    }
}
