//! Service times in blocks, many at once.
//!
//! | law | from a uniform number u |
//! | --- | --- |
//! | constant | drawn from nothing |
//! | uniform | in a straight line |
//! | exponential | −ln u ([`exponential`]) |
//! | lognormal, Pareto | a table of its quantile function, fine in both tails ([`quantiles`]) |
//! | a table of quantiles | its segment, found from a guide table ([`segments`]) |
//!
//! # Determinism
//!
//! Equal seeds give equal service times on every machine: all loops are of integers and of
//! `+ - * /`, which IEEE 754 rounds in one way only; the machine's vector instructions only do
//! several at once. They are chosen when the program runs. One word of the stream goes to one
//! service time.

mod exponential;
mod quantiles;
mod segments;
mod words;

use super::engine::{GREATEST, TICK_NS, has_vectors};
use plimsoll_workload::distribution::Distribution;
use plimsoll_workload::service_model::ServiceTime;
use quantiles::Quantiles;
use segments::Segments;
use words::Words;

/// Ticks per nanosecond.
const PER_NS: f64 = 1.0 / TICK_NS as f64;
/// Service times are at most so long, ticks.
const LONGEST: f64 = GREATEST as f64;

/// A stream of service times.
pub(super) struct Services {
    words: Words,
    law: Law,
    with_vectors: bool,
}

/// Laws, in ticks.
enum Law {
    Constant(f64),
    Uniform { low: f64, span: f64 },
    Exponential { mean: f64 },
    Quantiles(Box<Quantiles>),
    Segments(Segments),
}

impl Law {
    fn of(service: &ServiceTime) -> Self {
        let ticks = |ns: u64| ns as f64 * PER_NS;
        match service {
            ServiceTime::Table(table) => Self::Segments(Segments::of(table, PER_NS)),
            ServiceTime::Law(law) => match *law {
                Distribution::Constant { ns } => Self::Constant(ticks(ns)),
                Distribution::Uniform { low_ns, high_ns } => {
                    Self::Uniform { low: ticks(low_ns), span: ticks(high_ns - low_ns) }
                }
                Distribution::Exponential { mean_ns } => Self::Exponential { mean: ticks(mean_ns) },
                Distribution::LogNormal { mean_ns, sigma } => {
                    Self::Quantiles(Box::new(Quantiles::log_normal(ticks(mean_ns), sigma)))
                }
                Distribution::Pareto { shape, low_ns, high_ns } => {
                    let (low, high) = (ticks(low_ns), ticks(high_ns));
                    Self::Quantiles(Box::new(Quantiles::pareto(shape, low, high)))
                }
            },
        }
    }
}

impl Services {
    /// Of a law, from the stream named `service`.
    pub(super) fn new(service: &ServiceTime, seed: u64) -> Self {
        let with_vectors = has_vectors();
        Self { words: Words::new(seed), law: Law::of(service), with_vectors }
    }

    /// The same, made without the machine's vector instructions.
    pub(super) fn portable(self) -> Self {
        Self { with_vectors: false, ..self }
    }

    /// The next so many, in ticks.
    pub(super) fn fill<const N: usize>(&mut self, out: &mut [u64; N]) {
        #[cfg(target_arch = "x86_64")]
        if self.with_vectors {
            #[expect(unsafe_code, reason = "vector instructions")]
            // SAFETY: the machine has them.
            return unsafe { self.fill_avx2(out) };
        }
        self.fill_by(out, Words::fill);
    }

    #[cfg(target_arch = "x86_64")]
    #[target_feature(enable = "avx2,bmi1,bmi2,lzcnt")]
    fn fill_avx2<const N: usize>(&mut self, out: &mut [u64; N]) {
        self.fill_by(out, |words, out| words.fill_avx2(out));
    }

    #[inline(always)]
    fn fill_by<const N: usize>(
        &mut self,
        out: &mut [u64; N],
        draw: impl Fn(&mut Words, &mut [u64; N]),
    ) {
        if let Law::Constant(ticks) = self.law {
            *out = [rounded(ticks); N];
            return;
        }
        draw(&mut self.words, out);
        match &self.law {
            Law::Constant(_) => {}
            Law::Uniform { low, span } => each(out, |word| low + open_unit(word) * span),
            Law::Exponential { mean } => each(out, |word| mean * exponential::of(word)),
            Law::Quantiles(table) => each(out, |word| table.at(word)),
            Law::Segments(table) => each(out, |word| table.at(open_unit(word))),
        }
    }
}

/// Turns words into ticks.
#[inline(always)]
fn each<const N: usize>(out: &mut [u64; N], ticks: impl Fn(u64) -> f64) {
    for out in out.iter_mut() {
        *out = rounded(ticks(*out));
    }
}

/// A number from 0 to [`LONGEST`] as the nearest whole one, without a conversion that vectors lack:
/// added to 2⁵², a number has no digits behind the point, and its last bits are the whole number.
#[inline(always)]
fn rounded(ticks: f64) -> u64 {
    const SHIFT: f64 = (1_u64 << 52) as f64;
    let bounded = if ticks < LONGEST { ticks } else { LONGEST };
    (bounded + SHIFT).to_bits() & ((1 << 52) - 1)
}

/// The high 52 bits of a word as a number within 0 and 1, neither of which it is.
#[inline(always)]
fn open_unit(word: u64) -> f64 {
    // From 1 to 2, in steps of 2⁻⁵²; half a step more is exact below 1.
    let above_one = f64::from_bits((word >> 12) | (1023 << 52));
    above_one - (1.0 - 0.5 * f64::EPSILON)
}

#[cfg(test)]
#[expect(clippy::cast_possible_truncation, reason = "of numbers that a test has made")]
mod tests {
    use super::*;
    use plimsoll_workload::service_model::Quantiles as Table;

    /// Draws of each law, as many as make a mean exact to a thousandth of a deviation.
    const DRAWS: usize = 1 << 20;

    fn laws() -> Vec<ServiceTime> {
        let table = vec![(0.0, 50_000_000), (0.5, 70_000_000), (0.99, 90_000_000), (1.0, 1 << 28)];
        let texts = ["const:70ms", "uniform:10ms..30ms", "exp:70ms", "lognormal:70ms,0.8"];
        let parse = |text: &str| ServiceTime::Law(Distribution::parse(text).unwrap());
        let mut laws: Vec<ServiceTime> = texts.into_iter().map(parse).collect();
        laws.push(parse("pareto:4.5,10ms..10s"));
        laws.push(ServiceTime::Table(Table::new(table).unwrap()));
        laws
    }

    fn draws(mut services: Services) -> Vec<u64> {
        let mut all = Vec::with_capacity(DRAWS);
        let mut block = [0; 1024];
        while all.len() < DRAWS {
            services.fill(&mut block);
            all.extend(block);
        }
        all
    }

    /// What is drawn one at a time, sorted, is what blocks are held against.
    fn one_by_one(law: &ServiceTime) -> Vec<u64> {
        let mut stream = plimsoll_workload::random::Stream::named(3, "one by one");
        let ticks = |seconds: f64| (seconds * 1e9 * PER_NS + 0.5) as u64;
        (0..DRAWS).map(|_| ticks(law.sample(&mut stream))).collect()
    }

    fn moments(of: &[u64]) -> (f64, f64) {
        let mean = of.iter().map(|&x| x as f64).sum::<f64>() / of.len() as f64;
        let square = of.iter().map(|&x| (x as f64 - mean).powi(2)).sum::<f64>() / of.len() as f64;
        (mean, square.sqrt())
    }

    #[test]
    fn means_deviations_and_quantiles_are_the_laws() {
        for law in laws() {
            let (mut found, mut other) = (draws(Services::new(&law, 5)), one_by_one(&law));
            let ((mean, deviation), (_, other_deviation)) = (moments(&found), moments(&other));
            let wanted = law.mean() * 1e9 * PER_NS;
            let error = deviation / (DRAWS as f64).sqrt();
            assert!((mean - wanted).abs() <= 4.0 * error + 0.5, "{law:?}: {mean} for {wanted}");
            let near = (deviation / other_deviation.max(1.0) - 1.0).abs();
            assert!(near < 0.03 || other_deviation < 1.0, "{law:?}: {deviation} {other_deviation}");
            found.sort_unstable();
            other.sort_unstable();
            for share in [0.001, 0.01, 0.1, 0.5, 0.9, 0.99, 0.999] {
                let at = (share * DRAWS as f64) as usize;
                // Four deviations of a count, to each side, of both samples.
                let far = (6.0 * (DRAWS as f64 * share * (1.0 - share)).sqrt()) as usize;
                let (least, most) = (other[at - far], other[at + far]);
                assert!((least..=most).contains(&found[at]), "{law:?} at {share}: {}", found[at]);
            }
        }
    }

    #[test]
    fn vectors_and_plain_code_say_the_same_to_the_last_bit() {
        for law in laws() {
            let (any, plain) = (Services::new(&law, 9), Services::new(&law, 9).portable());
            assert_eq!(draws(any), draws(plain), "{law:?}");
        }
    }

    #[test]
    fn long_times_end_at_the_longest() {
        assert_eq!(rounded(0.49), 0);
        assert_eq!(rounded(1.51), 2);
        assert_eq!(rounded(f64::INFINITY), GREATEST);
        assert_eq!(rounded(f64::NAN), GREATEST);
    }
}
