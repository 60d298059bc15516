//! Schedules against hand-computed values, numerical integration and their own inverse.

use std::sync::Arc;

use plimsoll_workload::arrivals::{Arrivals, DueTimes, Share};
use plimsoll_workload::schedule::{MAX_DURATION_NS, Piece, Schedule, ScheduleError, Shape};
use proptest::prelude::*;

const S: u64 = 1_000_000_000;

fn constant(rate: f64, seconds: u64) -> Piece {
    Piece { shape: Shape::Constant { rate }, duration_ns: seconds * S }
}

fn pieces(text: &str) -> Vec<Piece> {
    Schedule::parse(text).unwrap_or_else(|error| panic!("{text}: {error}")).pieces().collect()
}

/// Rates from none to many, round ones among them.
fn rate() -> impl Strategy<Value = f64> {
    prop_oneof![
        1 => Just(0.0),
        3 => (1..2_000_u32).prop_map(f64::from),
        3 => 0.01..2_000.0,
        1 => (1..100_u32).prop_map(|per_hour| f64::from(per_hour) / 3600.0),
    ]
}

fn duration() -> impl Strategy<Value = u64> {
    prop_oneof![(1..20_u64).prop_map(|s| s * S), 1..10 * S, 1..2_000_u64, Just(60 * S)]
}

/// A piece of any shape.
pub(crate) fn piece() -> impl Strategy<Value = Piece> {
    let shape = prop_oneof![
        rate().prop_map(|rate| Shape::Constant { rate }),
        (rate(), rate()).prop_map(|(from, to)| Shape::Linear { from, to }),
        (0.01..2_000.0, 0.01..2_000.0).prop_map(|(from, to)| Shape::Exponential { from, to }),
    ];
    (shape, duration()).prop_map(|(shape, duration_ns)| Piece { shape, duration_ns })
}

fn of_pieces(pieces: Vec<Piece>) -> Schedule {
    Schedule::from_pieces(pieces).unwrap_or_else(|error| panic!("{error}"))
}

/// The instant after a share of a length of time.
pub(crate) fn instant(share: f64, length_ns: u64) -> u64 {
    #[expect(clippy::cast_possible_truncation, reason = "rounding down is what is wanted")]
    let instant = (share * length_ns as f64) as u64;
    instant.min(length_ns)
}

/// A schedule of up to six pieces of any shape.
pub(crate) fn schedule() -> impl Strategy<Value = Schedule> {
    prop::collection::vec(piece(), 1..6).prop_map(of_pieces)
}

#[test]
fn reads_each_form() {
    assert_eq!(pieces("500/s for 30s"), [constant(500.0, 30)]);
    assert_eq!(
        pieces("100/s for 1m, 100/s..600/s in 10m ,600/s for 5m"),
        [
            constant(100.0, 60),
            Piece { shape: Shape::Linear { from: 100.0, to: 600.0 }, duration_ns: 600 * S },
            constant(600.0, 300),
        ]
    );
    assert_eq!(
        pieces(" 1/s .. 1k/s in 1h30m exp "),
        [Piece { shape: Shape::Exponential { from: 1.0, to: 1000.0 }, duration_ns: 5400 * S }]
    );
    assert_eq!(pieces("0/s for 1s"), [constant(0.0, 1)]);
}

#[test]
fn the_last_level_of_a_stair_is_the_bound_and_as_long() {
    let hour = pieces("1/s..30/s step 1/s every 2m");
    assert_eq!(hour.len(), 30);
    assert_eq!((hour[0], hour[29]), (constant(1.0, 120), constant(30.0, 120)));
    let levels = |text: &str| {
        let rate = |piece: Piece| match piece.shape {
            Shape::Constant { rate } => rate,
            _ => panic!("a stair has level pieces only"),
        };
        pieces(text).into_iter().map(rate).collect::<Vec<f64>>()
    };
    assert_eq!(levels("1/s..10/s step 4/s every 1s"), [1.0, 5.0, 9.0, 10.0]);
    assert_eq!(levels("10/s..1/s step -4/s every 1s"), [10.0, 6.0, 2.0, 1.0]);
    assert_eq!(levels("0.1/s..0.3/s step 0.1/s every 1s"), [0.1, 0.2, 0.3]);
    assert_eq!(levels("5/s..5/s step 1/s every 1s"), [5.0]);
    assert_eq!(levels("0/s..2/s step 3/s every 1s"), [0.0, 2.0]);
}

#[test]
fn each_mistake_has_one_clear_message_at_its_place() {
    for (text, at, found, wanted) in [
        ("500 for 30s", 0, "500", "a rate such as 500/s, 30/m or 36/h"),
        ("1/s for 1s, 500 for 30s", 12, "500", "a rate such as 500/s, 30/m or 36/h"),
        ("500/s for 30", 10, "30", "a duration such as 250ms"),
        ("500", 0, "500", "a rate such as 500/s"),
        ("-5/s for 1s", 0, "-5/s", "a rate such as 500/s"),
        ("5/s..-5/s in 1s", 5, "-5/s", "a rate such as 500/s"),
        ("5/s for 0s", 8, "0s", "a duration above zero"),
        ("5/s..6/s in 0ms", 12, "0ms", "a duration above zero"),
        ("5/s..6/s step 1/s every 0s", 24, "0s", "a duration above zero"),
        ("0/s..9/s in 1m exp", 0, "0/s", "a rate above zero at both ends"),
        ("9/s..0/s in 1m exp", 5, "0/s", "a rate above zero at both ends"),
        ("1/s..9/s step 0/s every 1m", 14, "0/s", "a step other than zero"),
        ("1/s..9/s step -1/s every 1m", 14, "-1/s", "a step upwards"),
        ("9/s..1/s step 1/s every 1m", 14, "1/s", "a step downwards"),
        ("1/s..9/s step 1 every 1m", 14, "1", "a rate such as 500/s"),
        ("1/s..9/s for 1m", 0, "1/s..9/s", "a single rate before `for`"),
        ("9/s in 1m", 0, "9/s", "a range of rates"),
        ("9/s step 1/s every 1m", 0, "9/s", "a range of rates"),
        ("9/s", 3, "", "`for DURATION`"),
        ("1/s..9/s", 8, "", "`in DURATION` or `step RATE every DURATION`"),
        ("1/s..9/s step 1/s", 17, "", "`every DURATION`"),
        ("1/s..9/s in 1m exp 3", 19, "3", "nothing after `exp`"),
        ("1/s..9/s in 1m every 1s", 0, "1/s..9/s in 1m every 1s", "`RATE for DURATION`"),
        ("for 1m", 0, "for 1m", "`RATE for DURATION`"),
        ("", 0, "", "`RATE for DURATION`"),
        ("1/s for 1s,", 11, "", "`RATE for DURATION`"),
        ("1/s for 1s,,1/s for 1s", 11, "", "`RATE for DURATION`"),
        ("2000M/s for 1s", 0, "2000M/s", "a rate of at most 1,000,000,000/s"),
        ("1/s for 4000d", 8, "4000d", "a duration of at most ten years"),
        ("1/s for 3000d, 1/s for 3000d", 15, "1/s for 3000d", "a schedule of at most ten years"),
        (
            "0/s..1M/s step 0.01/s every 1ns",
            0,
            "0/s..1M/s step 0.01/s every 1ns",
            "at most 10000000",
        ),
        ("0/s..9/s step 0.0000000000001/s every 1ns", 0, "0/s..9/s step", "at most 10000000"),
    ] {
        let error = Schedule::parse(text).expect_err(text);
        assert_eq!(error.at, at, "{text}: {error:?}");
        assert!(error.found.starts_with(found), "{text}: {error:?}");
        assert!(error.found.is_empty() == found.is_empty(), "{text}: {error:?}");
        assert!(error.wanted.contains(wanted), "{text}: {error:?}");
        assert!(error.at + error.len <= text.len(), "{text}: {error:?}");
        assert!(error.hint.is_some(), "{text}: {error:?}");
    }
}

#[test]
fn pieces_that_make_no_schedule_are_named() {
    let zero = Piece { shape: Shape::Constant { rate: 1.0 }, duration_ns: 0 };
    let fine = constant(1.0, 1);
    let with = |rate| Piece { shape: Shape::Constant { rate }, duration_ns: 1 };
    assert_eq!(Schedule::from_pieces([]), Err(ScheduleError::Empty));
    assert_eq!(Schedule::from_pieces([fine, zero]), Err(ScheduleError::ZeroDuration { piece: 2 }));
    assert_eq!(
        Schedule::from_pieces([with(-1.0)]),
        Err(ScheduleError::Rate { piece: 1, rate: -1.0 })
    );
    assert!(Schedule::from_pieces([with(f64::NAN)]).is_err());
    assert!(Schedule::from_pieces([with(f64::INFINITY)]).is_err());
    assert!(Schedule::constant(1.0, MAX_DURATION_NS).is_ok());
    assert_eq!(
        Schedule::constant(1.0, MAX_DURATION_NS)
            .unwrap()
            .then(&Schedule::constant(1.0, 1).unwrap()),
        Err(ScheduleError::TooLong { piece: 2 })
    );
    let many = std::iter::repeat_n(fine, 10_000_001);
    assert_eq!(
        Schedule::from_pieces(many),
        Err(ScheduleError::TooManyPieces { found: 10_000_001 })
    );
}

#[test]
fn integrals_by_hand() {
    let schedule = Schedule::parse(
        "100/s for 1m, 100/s..600/s in 10m, 600/s..0/s in 100s, 0/s for 1m, 7/h for 1h",
    )
    .unwrap();
    assert_eq!(schedule.total(), 6_000 + 210_000 + 30_000 + 7);
    assert_eq!(schedule.duration_ns(), (60 + 600 + 100 + 60 + 3600) * S);
    for (t_s, expected) in [(0, 0.0), (30, 3_000.0), (60, 6_000.0), (660, 216_000.0)] {
        assert!((schedule.cumulative(t_s * S) - expected).abs() < 1e-6, "Λ({t_s} s)");
    }
    // Half way down the ramp three quarters of its requests are due.
    assert!((schedule.cumulative(710 * S) - 238_500.0).abs() < 1e-6);
    for (t_s, expected) in [(0, 100.0), (360, 350.0), (710, 300.0), (800, 0.0), (9_999, 0.0)] {
        assert!((schedule.rate_at(t_s * S) - expected).abs() < 1e-9, "rate at {t_s} s");
    }
    assert!((schedule.peak() - 600.0).abs() < 1e-12);
    // 1/s to e^2/s in 2 s: the rate is e^t, its integral e^t - 1.
    let grown = Shape::Exponential { from: 1.0, to: 1.0_f64.exp().powi(2) };
    let grown = Schedule::from_pieces([Piece { shape: grown, duration_ns: 2 * S }]).unwrap();
    assert!((grown.cumulative(S) - (1.0_f64.exp() - 1.0)).abs() < 1e-12);
    assert!((grown.rate_at(S) - 1.0_f64.exp()).abs() < 1e-12);
}

/// Rates without an exact binary form must not lose the request that completes at the end.
#[test]
fn whole_totals_stay_whole() {
    for (text, total) in [
        ("7/h for 1h", 7),
        // 64.99999999999999 and 57.00000000000001 in floating point.
        ("65/h for 1h", 65),
        ("57/h for 1h", 57),
        ("22/m for 90s", 33),
        ("100/m for 3s", 5),
        ("0.1/s for 30s", 3),
        ("0.1/s for 10s, 0.7/s for 10s, 0.2/s for 10s", 10),
        ("49/h for 3h, 1/s for 0.5s", 147),
        ("0.3/s for 10s", 3),
        // 290 levels, ten seconds each: the sum of 10 to 299.
        ("1/s..29.9/s step 0.1/s every 10s", 44_805),
        ("1/s for 999999999ns", 0),
        ("36/h for 3660d", 3_162_240),
    ] {
        let schedule = Schedule::parse(text).unwrap();
        assert_eq!(schedule.total(), total, "{text}");
    }
}

#[test]
fn a_pause_belongs_to_no_request() {
    let schedule = Schedule::parse("0/s for 5s, 2/s for 1s, 0/s for 10s, 2/s for 1s").unwrap();
    let due = [0.0, 1.0, 2.0, 3.0, 4.0, 1e30].map(|n| schedule.due_at(n));
    assert_eq!(due, [5 * S, 5_500_000_000, 16 * S, 16_500_000_000, 17 * S, 17 * S]);
    assert_eq!(schedule.due_at(-3.0), 5 * S);
    // Integrals a hair above and below a whole number end no other way: the request that would
    // complete there waits for the end of the pause.
    for (text, n) in
        [("6/h for 10m, 0/s for 1m, 1/s for 1s", 1), ("65/h for 1h, 0/s for 1m, 1/s for 1s", 65)]
    {
        let schedule = Arc::new(Schedule::parse(text).unwrap());
        let after = schedule.duration_ns() - S;
        assert_eq!(schedule.due_at(f64::from(n)), after, "{text}");
        let mut due = DueTimes::new(schedule, Arrivals::Even, 1, Share { index: n, of: u32::MAX });
        let mut block = [0; 2];
        assert_eq!((due.fill(&mut block), block[0]), (1, after), "{text}");
    }
    // Nor does such a hair show in the piece after it.
    let schedule = Schedule::parse("6/h for 10m, 1/s for 10s").unwrap();
    assert_eq!([1.0, 2.0, 3.0].map(|n| schedule.due_at(n)), [600 * S, 601 * S, 602 * S]);
    assert_eq!(Schedule::parse("0/s for 5s").unwrap().due_at(0.0), 5 * S);
}

#[test]
fn neighbours_of_one_rate_become_one_piece() {
    let schedule = Schedule::parse("1/s for 1s, 1/s for 2s, 2/s for 1s").unwrap();
    assert_eq!(schedule.pieces().count(), 2);
    assert_eq!(schedule.to_string(), "1/s for 3s, 2/s for 1s");
    let twice = schedule.clone().then(&schedule).unwrap();
    assert_eq!((twice.total(), twice.duration_ns()), (2 * schedule.total(), 8 * S));
}

/// Simpson's rule over small steps of the rate, in pieces that the schedule does not know of.
fn integrate(schedule: &Schedule, from_ns: u64, to_ns: u64) -> f64 {
    const STEPS: u64 = 2_000;
    let step = (to_ns - from_ns) as f64 / STEPS as f64;
    let at = |i: f64| schedule.rate_at(from_ns + instant(i / STEPS as f64, to_ns - from_ns));
    (0..STEPS)
        .map(|i| i as f64)
        .map(|i| (at(i) + 4.0 * at(i + 0.5) + at(i + 1.0)) * step / 6e9)
        .sum()
}

proptest! {
    #[test]
    fn the_text_reads_back_to_the_same(schedule in schedule()) {
        let text = schedule.to_string();
        prop_assert_eq!(Schedule::parse(&text).unwrap(), schedule, "{}", text);
    }

    #[test]
    fn any_text_is_read_or_refused_within_itself(
        text in "[0-9./smhforinexpstepevery ,-]{0,60}|\\PC{0,40}",
    ) {
        if let Err(error) = Schedule::parse(&text) {
            prop_assert!(error.at + error.len <= text.len(), "{:?}", error);
        }
    }

    #[test]
    fn the_integral_is_the_integral_of_the_rate(piece in piece(), a in 0.0..1.0, b in 0.0..1.0) {
        let schedule = Schedule::from_pieces([piece]).unwrap();
        // Away from the end, where the rate jumps to zero.
        let end = piece.duration_ns - 1;
        let (a, b) = (instant(a, end), instant(b, end));
        let (from, to) = (a.min(b), a.max(b));
        let exact = schedule.cumulative(to) - schedule.cumulative(from);
        let numeric = integrate(&schedule, from, to);
        // Rounding to nanoseconds in `integrate` shifts each point by less than one.
        let slack = 1e-6 * schedule.peak() + 1e-6 * exact + 1e-9;
        prop_assert!((exact - numeric).abs() <= slack, "{} against {}", exact, numeric);
    }

    #[test]
    fn the_integral_never_falls_and_ends_at_the_total(
        schedule in schedule(),
        shares in prop::collection::vec(0.0..1.0_f64, 8),
    ) {
        let mut instants: Vec<u64> =
            shares.iter().map(|share| instant(*share, schedule.duration_ns())).collect();
        instants.extend([0, schedule.duration_ns(), schedule.duration_ns() + 5]);
        instants.sort_unstable();
        let counts: Vec<f64> = instants.iter().map(|&t| schedule.cumulative(t)).collect();
        prop_assert!(counts.is_sorted(), "{:?}", counts);
        prop_assert!(counts[0].abs() < 1e-12);
        let end = counts[counts.len() - 1];
        prop_assert!(end >= schedule.total() as f64 - 1e-6);
        prop_assert!(end < schedule.total() as f64 + 1.0);
    }

    /// Λ(Λ⁻¹(n)) is n, to what one nanosecond of rounding down can change.
    #[test]
    fn the_inverse_inverts(schedule in schedule(), share in 0.0..1.0) {
        let end = schedule.cumulative(schedule.duration_ns());
        let n = share * end;
        let due = schedule.due_at(n);
        prop_assert!(due <= schedule.duration_ns());
        let slack = 1e-6 + 1e-12 * end;
        let at = schedule.cumulative(due);
        prop_assert!(at <= n + slack, "early: {} > {}", at, n);
        // Two nanoseconds later it has been reached.
        let reached = schedule.cumulative(due + 2);
        prop_assert!(reached >= n - slack, "late: {} < {}", reached, n);
    }

    #[test]
    fn the_inverse_never_falls(
        schedule in schedule(),
        mut shares in prop::collection::vec(0.0..1.0_f64, 16),
    ) {
        shares.sort_unstable_by(f64::total_cmp);
        let end = schedule.cumulative(schedule.duration_ns());
        let due: Vec<u64> = shares.iter().map(|share| schedule.due_at(share * end)).collect();
        prop_assert!(due.is_sorted(), "{:?}", due);
    }
}
