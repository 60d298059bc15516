//! When a load begins to be measured, and when it is ended before its end, second by second.

#![expect(clippy::cast_possible_truncation, reason = "numbers of tests are small")]

use super::*;
use plimsoll_units::hash::mix;
use std::sync::mpsc::channel;

/// A user who wishes for nothing.
struct Nobody;

impl Control for Nobody {
    fn tell(&self, _: News<'_>) {}

    fn wish(&self) -> Wish {
        Wish::Continue
    }
}

/// What happens in a second.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Second {
    /// All requests succeed.
    Good,
    /// Three in ten fail.
    Poor,
    /// All fail.
    Down,
}

/// The second that ends so many seconds after the load's begin.
fn interval(number: u64, of: Second) -> Interval {
    let (start_ns, len_ns) = ((number - 1) * SECOND_NS, SECOND_NS);
    let mut second = Interval { start_ns, len_ns, ..Interval::default() };
    let failed = [0, 3, 10][of as usize];
    second.events.succeeded = 10 - failed;
    second.events.errors[0] = failed;
    second.events.completed = 10;
    second
}

/// The rules of a load whose warm-up waits, where it has a rule for its begin.
fn rules(
    start: Option<&str>,
    (stop, ends): (&str, &str),
    (warm_s, measured_s): (u64, u64),
) -> Rules {
    let start = start.map(|text| Rule::parse(text).unwrap());
    Rules {
        stop: Some(Rule::stopping(stop).unwrap()),
        ends: Some(Rule::ending(ends).unwrap()),
        waits: start.is_some(),
        start,
        watches: Vec::new(),
        name: String::new(),
        hooks: Vec::new(),
        warm_up: WarmUp::Lasting(Duration::ZERO),
        warmup_ns: warm_s * SECOND_NS,
        measured_ns: measured_s * SECOND_NS,
        period: Duration::from_secs(1),
        patience_ns: SECOND_NS,
        is_for_ever: false,
    }
}

/// How a load ended, and after how many seconds; and when it began to be measured.
type Ends = (Option<Stopped>, u64, Option<u64>);

/// Shows a load its seconds, up to the end of its measured phase.
fn steered(rules: &Rules, seconds: &mut dyn FnMut() -> Second) -> (Ends, Vec<Second>) {
    let (events, _kept) = channel();
    let mut steering = Steering::by(&Nobody, rules, None, (events, Arc::default()));
    let measured_s = rules.measured_ns / SECOND_NS;
    let mut began = (!rules.waits).then_some(rules.warmup_ns / SECOND_NS);
    let mut seen = Vec::new();
    for number in 1.. {
        seen.push(seconds());
        let wish = steering.watch(&interval(number, seen[seen.len() - 1]), true);
        assert_eq!(wish == Wish::Stop, steering.stopped.is_some());
        if steering.may_measure().is_some() {
            assert!(began.is_none(), "it begins once");
            began = Some(number + 1);
            steering.measures_from((number + 1) * SECOND_NS);
        }
        let is_over = began.is_some_and(|began| number >= began + measured_s);
        if wish == Wish::Stop || is_over {
            return ((steering.stopped.take(), number, began), seen);
        }
    }
    unreachable!("it ends at its limit")
}

/// How many of the last seconds are so, on end.
fn row(seen: &[Second], is_so: impl Fn(Second) -> bool) -> u64 {
    seen.iter().rev().take_while(|second| is_so(**second)).count() as u64
}

/// The measured phase begins with the second after the first whose rule has held for as long as it
/// asks; where that has not come to be in time for it to begin at the limit, it never does. A rule
/// that stops the load does so with the first second at which it holds, before or after.
#[test]
fn a_warm_up_ends_when_its_rule_holds_and_at_its_limit() {
    let (mut counts, kinds) = ([0; 4], ["begun", "not begun", "stopped", "lost"]);
    for seed in 0..256_u64 {
        let mut state = seed;
        let mut draw = |below: u64| {
            state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
            mix(state) % below
        };
        let (calm_s, bad_s) = (1 + draw(6), 2 + draw(4));
        let (warm_s, measured_s, share) = (3 + draw(20), 5 + draw(30), 10 + draw(80));
        let texts = (format!("errors<=20% for {calm_s}s"), format!("errors>50% for {bad_s}s"));
        let ends = format!("availability<{share}%");
        let rules = rules(Some(&texts.0), (&texts.1, &ends), (warm_s, measured_s));
        let of = [Second::Good, Second::Good, Second::Good, Second::Poor, Second::Down];
        let ((stopped, at, began), seen) = steered(&rules, &mut || of[draw(5) as usize]);
        let (mut begins, mut expected, mut down) = (None, None, 0);
        for number in 1..=seen.len() as u64 {
            let until = &seen[..number as usize];
            let is_measured =
                begins.is_some_and(|from| number > from && number <= from + measured_s);
            down += u64::from(is_measured && until.last() == Some(&Second::Down));
            let is_warm = begins.is_none();
            if is_warm && row(until, |of| of == Second::Good) >= calm_s {
                begins = Some(number + 1);
            } else if is_warm && number + 1 >= warm_s {
                expected = expected.or(Some((1, number)));
            }
            if row(until, |of| of == Second::Down) >= bad_s {
                expected = expected.or(Some((2, number)));
            }
            // The share that can still be reached is of all the seconds that are planned.
            let is_lost = !is_warm && 100 * (measured_s - down) < share * measured_s;
            if is_lost {
                expected = expected.or(Some((3, number)));
            }
        }
        assert_eq!(began, begins, "{seed}: {seen:?}");
        let kind = match stopped {
            None => 0,
            Some(Stopped::NotBegun(_)) => 1,
            Some(Stopped::Rule(_)) => 2,
            Some(Stopped::Early(_)) => 3,
        };
        assert_eq!((kind > 0).then_some((kind, at)), expected, "{seed}: {stopped:?} of {seen:?}");
        assert!(began.is_none_or(|began| began <= warm_s), "{seed}: it began after its limit");
        counts[kind] += 1;
    }
    for (count, kind) in counts.iter().zip(kinds) {
        assert!(*count > 5, "{count} were {kind}: {counts:?}");
    }
}

/// A load without a warm-up that waits is lost with the first second at which what is planned
/// cannot be reached any more.
#[test]
fn a_load_ends_early_when_its_availability_is_lost() {
    let rules = rules(None, ("errors>50% for 1h", "availability<90%"), (4, 20));
    // Four seconds that are down in its warm-up say nothing; two of twenty are a tenth.
    let mut all = [Second::Down; 4].into_iter().chain([Second::Good; 7]).chain([Second::Down; 9]);
    let ((stopped, at, _), _) = steered(&rules, &mut || all.next().unwrap());
    let Some(Stopped::Early(text)) = stopped else { panic!("{stopped:?}") };
    assert_eq!((at, text.as_str()), (14, "availability<90% held after 14 s: availability 85%"));
}
