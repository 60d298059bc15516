//! Comparisons of two sides whose figures are known.

use super::*;

/// A side of one group whose replications have these p99 and errors.
fn side(id: &str, p99: &[f64], errors: f64) -> Side {
    let one = |(at, value): (usize, &f64)| One {
        id: format!("{id}-{at}"),
        seed: at as u64 + if id == "a" { 0 } else { 100 },
        noise: Vec::new(),
        figures: BTreeMap::from([
            ("response_us.p99".to_owned(), *value),
            ("response_us.p50".to_owned(), value / 3.0),
            ("errors".to_owned(), errors),
        ]),
    };
    let ones = p99.iter().enumerate().map(one).collect();
    Side {
        id: id.to_owned(),
        name: "shop".to_owned(),
        groups: vec![Group { ones, ..Group::default() }],
    }
}

const SHOWN: [&Figure; 3] = [figure::RESPONSE_US_P50, figure::RESPONSE_US_P99, figure::ERRORS];
const A: [f64; 5] = [100.0, 101.0, 99.0, 100.5, 99.5];

fn with(judged: &[&'static Figure]) -> With<'static> {
    let judged: &'static [&'static Figure] = Box::leak(judged.to_vec().into_boxed_slice());
    With { tolerance: 0.05, shown: &SHOWN, judged, change: Change::Ratio, least: 2 }
}

#[test]
fn the_judged_figures_alone_make_it_worse_and_the_sentence_says_by_how_much() {
    let (a, b) = (side("a", &A, 0.0), side("b", &A.map(|of| of * 2.9), 0.0));
    let usual = usual(Kind::Load, [&a, &b]);
    assert_eq!(usual.iter().map(|of| of.name).collect::<Vec<_>>(), ["response_us.p99", "errors"]);
    let found = compared(&a, &b, &with(&usual));
    assert!(found.is_worse() && found.rows.iter().filter(|row| row.is_judged).count() == 2);
    assert_eq!(found.says(), "B is worse: response p99 × 2.900");
    assert_eq!(found.rows[0].judged(), "worse (not judged)");
    let found = compared(&a, &b, &with(&[figure::ERRORS]));
    assert!(!found.is_worse());
    assert_eq!(found.says(), "B is not worse by more than 5%");
    assert_eq!(compared(&b, &a, &with(&usual)).says(), "B is better: response p99 × 0.345");
}

#[test]
fn a_noisy_host_leaves_open_what_looks_worse() {
    let (a, mut b) = (side("a", &A, 0.0), side("b", &A.map(|of| of * 2.9), 0.0));
    b.groups[0].ones[1].noise = vec!["the host was noisy: it was".to_owned()];
    let found = compared(&a, &b, &with(&[figure::RESPONSE_US_P99]));
    assert!(!found.is_worse());
    let row = found.rows.iter().find(|row| row.is_judged).unwrap();
    assert_eq!(row.verdict(), Some(Verdict::Undecided));
    assert!(row.judged().contains("the host of B was noisy in 1 of 5 replications"), "{row:?}");
    assert!(found.says().starts_with("It cannot be told whether B is worse"), "{}", found.says());
}

#[test]
fn too_few_replications_tell_nothing() {
    let (a, b) = (side("a", &A[..2], 0.0), side("b", &A.map(|of| of * 2.9), 0.0));
    let by = With { least: 3, ..with(&[figure::RESPONSE_US_P99]) };
    let found = compared(&a, &b, &by);
    assert!(!found.is_worse());
    assert!(found.says().contains("A has 2 replications, and at least 3 are needed"));
    let one = side("b", &A[..1], 0.0);
    let found = compared(&side("a", &A, 0.0), &one, &by);
    assert!(found.says().contains("B has 1 replication, and at least 2 are needed"));
}

/// One figure of forty that looks worse by chance alone is no alarm; of a single one it is.
#[test]
fn of_many_judged_figures_worse_is_corrected_by_their_number() {
    let names: Vec<String> = (0..40).map(|n| format!("name-{n}: response_us.p50")).collect();
    let of = |id: &str, factor: f64| {
        let mut side = side(id, &A, 0.0);
        for (one, value) in side.groups[0].ones.iter_mut().zip(A) {
            for (n, name) in names.iter().enumerate() {
                let factor = if n == 0 { factor } else { 1.0 };
                let spread = (value - 100.0) * 6.0 + 100.0;
                one.figures.insert(name.clone(), spread * factor);
            }
        }
        side
    };
    let (a, b) = (of("a", 1.0), of("b", 1.18));
    let figures: Vec<&'static Figure> =
        names.iter().map(|name| figure::named(name).unwrap()).collect();
    let alone = compared(&a, &b, &with(&figures[..1]));
    assert!(alone.is_worse(), "{:?}", alone.rows.iter().find(|row| row.is_judged));
    let all = compared(&a, &b, &with(&figures));
    assert!(!all.is_worse());
    let open = all.rows.iter().filter_map(|row| row.open.as_ref()).collect::<Vec<_>>();
    assert_eq!(open, ["of 40 figures that are judged, one looks so by chance"]);
}

#[test]
fn figures_that_some_replications_lack_are_left_out_and_named() {
    let (mut a, b) = (side("a", &A, 0.0), side("b", &A, 0.0));
    a.groups[0].ones[2].figures.remove("response_us.p99");
    let found = compared(&a, &b, &with(&usual(Kind::Load, [&a, &b])));
    assert_eq!(found.remarks, ["response p99 is left out: a-2 lacks it"]);
    let judged: Vec<&str> =
        found.rows.iter().filter(|row| row.is_judged).map(|row| row.figure.name).collect();
    assert_eq!(judged, ["response_us.p50", "errors"], "p90 is nowhere, so p50 is the highest");
}
