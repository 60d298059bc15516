//! Effects and tables of the analysis of variance against reference vectors (statsmodels 0.15.0),
//! of which some rows stand here too.

use plimsoll_stats::design::Word;
use plimsoll_stats::effects::{Anova, Effects, Observation, Run, effects, main_effects};

use crate::random::Xorshift;
use crate::reference::{close, number, vectors};

/// The references are compared to six digits at least.
const DIGITS: f64 = 1e-7;

fn word(letters: &str) -> Word {
    let factors = letters.bytes().filter(u8::is_ascii_uppercase).map(|b| usize::from(b - b'A'));
    Word::of(factors).unwrap()
}

fn of(rows: &[(Vec<i8>, f64)], level: f64) -> Effects {
    let runs: Vec<Run<'_>> =
        rows.iter().map(|(levels, y)| Run { levels, values: std::slice::from_ref(y) }).collect();
    effects(&runs, level).unwrap()
}

fn near(found: f64, wanted: f64, what: &str) {
    assert!(close(found, wanted, DIGITS), "{what}: {found} for {wanted}");
}

fn level(cell: &str) -> i8 {
    cell.parse().unwrap()
}

/// A figure of the replicated square by its name in the reference.
fn jain(found: &Effects, name: &str) -> f64 {
    let error = || found.error.unwrap();
    let (name, end) = match name.rsplit_once("_ci90_") {
        Some((name, end)) => (name, Some(end)),
        None => (name, None),
    };
    let interval = match name {
        "q0" => found.mean_interval,
        _ => name.strip_prefix('q').and_then(|term| found.of(word(term)).unwrap().interval),
    };
    match (name, end) {
        (_, Some("lo")) => interval.unwrap().low,
        (_, Some("hi")) => interval.unwrap().high,
        ("q0", _) => found.mean,
        ("SSE", _) => error().sum_of_squares,
        ("SST", _) => found.total,
        ("se", _) => error().deviation,
        ("pctError", _) => 100.0 * error().share,
        _ => match (name.strip_prefix('q'), name.strip_prefix("pct")) {
            (Some(term), _) => found.of(word(term)).unwrap().coefficient,
            (_, Some(term)) => 100.0 * found.of(word(term)).unwrap().share,
            _ => panic!("no figure is called {name}"),
        },
    }
}

#[test]
fn effects_are_those_of_the_book() {
    let data = vectors("effects_are_those_of_the_book", "effects_jain_data.csv");
    for row in vectors("effects_are_those_of_the_book", "effects_jain.csv") {
        let rows: Vec<_> = data
            .iter()
            .filter(|cells| cells[0] == row[0])
            .map(|cells| (vec![level(&cells[1]), level(&cells[2])], number(&cells[3])))
            .collect();
        let wanted = row[2].trim_start_matches("np.float64(").trim_end_matches(')');
        near(jain(&of(&rows, 0.90), &row[1]), number(wanted), &row[1]);
    }
}

/// The values of three factors of two levels, three replications of each combination: the
/// reference's data, in its order.
const CUBE: [[f64; 3]; 8] = [
    [45.8012, 46.0987, 45.5259],
    [47.3094, 47.7453, 47.2084],
    [35.2601, 36.5402, 34.7078],
    [38.1795, 39.2898, 39.1569],
    [57.9054, 56.8695, 57.7707],
    [60.8953, 58.8558, 59.7424],
    [53.2988, 53.9105, 53.3583],
    [58.5649, 57.5326, 59.0713],
];

fn cube() -> Vec<(Vec<i8>, f64)> {
    let sign = |on: usize| if on == 1 { 1 } else { -1 };
    let run = |n: usize| vec![sign(n >> 2 & 1), sign(n >> 1 & 1), sign(n & 1)];
    let rows = CUBE.iter().enumerate();
    rows.flat_map(|(n, values)| values.iter().map(move |value| (run(n), *value))).collect()
}

fn table(rows: &[(Vec<i8>, f64)], order: usize) -> Anova {
    let levels: Vec<Vec<usize>> = rows
        .iter()
        .map(|(levels, _)| levels.iter().map(|level| usize::from(*level > 0)).collect())
        .collect();
    let observations: Vec<Observation<'_>> = levels
        .iter()
        .zip(rows)
        .map(|(levels, (_, value))| Observation { levels, value: *value })
        .collect();
    Anova::of(&observations, order).unwrap()
}

/// Compares a row of the reference with the effects and with the table of the same values.
fn compare_row(row: &[&str], found: &Effects, table: &Anova) {
    let [kind, term, ref cells @ ..] = *row else { panic!("{row:?}") };
    let cell = |n: usize| number(cells[n]);
    if kind == "coef" {
        let (value, interval, p) = if term == "Intercept" {
            (found.mean, found.mean_interval.unwrap(), None)
        } else {
            let effect = found.of(word(term)).unwrap();
            (effect.coefficient, effect.interval.unwrap(), effect.p_value)
        };
        near(value, cell(0), term);
        near(interval.low, cell(4), term);
        near(interval.high, cell(5), term);
        if let Some(p) = p {
            near(p, cell(3), term);
        }
    } else if term == "Residual" {
        let error = found.error.unwrap();
        for squares in [error.sum_of_squares, table.residual.sum_of_squares] {
            near(squares, cell(0), term);
        }
        near(table.residual.df, cell(1), term);
        near(100.0 * error.share, cell(4), term);
    } else {
        let effect = found.of(word(term)).unwrap();
        let factors: Vec<usize> = effect.term.factors().collect();
        let source = table.sources.iter().find(|source| source.factors == factors).unwrap();
        near(effect.sum_of_squares, cell(0), term);
        near(source.sum_of_squares, cell(0), term);
        near(source.df, cell(1), term);
        near(source.f.unwrap(), cell(2), term);
        near(source.p_value.unwrap(), cell(3), term);
        near(effect.p_value.unwrap(), cell(3), term);
        near(100.0 * source.eta_squared, cell(4), term);
    }
}

#[test]
fn a_replicated_cube_is_analysed_as_published() {
    let (found, table) = (of(&cube(), 0.95), table(&cube(), 3));
    for row in [
        "coef,A,7.706345833333332,0.1351391528203428,57.025263755932606,6.499442056808294e-20,\
         7.419863627137216,7.9928280395294475",
        "coef,B:C,0.538920833333334,0.1351391528203429,3.98789560305878,0.0010586286789217145,\
         0.2524386271372181,0.8254030395294498",
        "anova,A:C,1.8115366537500481,1.0,4.133077034696555,0.05898984283959245,\
         0.10145576998117838,",
        "anova,Residual,7.0128347999999905,16.0,nan,nan,0.3927563667629616,",
    ] {
        compare_row(&row.split(',').collect::<Vec<_>>(), &found, &table);
    }
}

#[test]
fn a_replicated_cube_is_the_references() {
    let data = vectors("a_replicated_cube_is_the_references", "anova_2k_data.csv");
    let rows: Vec<_> = data
        .iter()
        .map(|cells| (cells[..3].iter().map(|c| level(c)).collect(), number(&cells[4])))
        .collect();
    assert!(rows.is_empty() || rows == cube(), "the literals are the reference's data");
    for row in vectors("a_replicated_cube_is_the_references", "anova_2k_reference.csv") {
        let cells: Vec<&str> = row.iter().map(String::as_str).collect();
        compare_row(&cells, &of(&rows, 0.95), &table(&rows, 3));
    }
}

const UNBALANCED: [(f64, f64, f64); 6] = [
    (616.693_255_632_067, 1_584.190_414_300_265_3, 3.053_856_092_897_978_4e-13),
    (62.046_508_680_587_884, 159.387_967_023_965_05, 6.891_978_255_737_248e-08),
    (38.599_361_952_594_74, 99.155_842_300_778_57, 7.712_730_019_953_308e-07),
    (21.034_661_940_512_866, 54.034_821_217_646_49, 1.446_741_483_982_919_6e-05),
    (0.538_361_245_185_146_6, 1.382_967_490_343_211_4, 0.264_420_517_237_868_25),
    (3.700_490_666_666_786_5, 9.505_993_115_382_294, 0.010_412_053_502_490_46),
];

/// Values that are missing leave a table of type II (statsmodels 0.15.0, `anova_lm(…, typ=2)` of
/// the cube's first seven and last eleven values, main effects and interactions of two).
#[test]
fn unbalanced_tables_are_of_type_two() {
    let mut rows = cube();
    rows.drain(7..13);
    let found = table(&rows, 2);
    for (source, (squares, f, p)) in found.sources.iter().zip(UNBALANCED) {
        let what = format!("{:?}", source.factors);
        near(source.sum_of_squares, squares, &what);
        near(source.f.unwrap(), f, &what);
        near(source.p_value.unwrap(), p, &what);
    }
}

#[test]
fn one_way_tables_are_the_references() {
    let data = vectors("one_way_tables_are_the_references", "anova_1way_data.csv");
    let names: Vec<&String> = data.iter().map(|cells| &cells[0]).collect();
    let place = |name: &String| names.iter().position(|other| *other == name).unwrap();
    let levels: Vec<[usize; 1]> = data.iter().map(|cells| [place(&cells[0])]).collect();
    let observations: Vec<Observation<'_>> = levels
        .iter()
        .zip(&data)
        .map(|(levels, cells)| Observation { levels, value: number(&cells[2]) })
        .collect();
    for row in vectors("one_way_tables_are_the_references", "anova_1way_reference.csv")
        .iter()
        .filter(|row| row[0] == "anova")
    {
        let table = Anova::of(&observations, 1).unwrap();
        let (source, residual) = (&table.sources[0], &table.residual);
        let (df, squares, mean) = if row[1] == "Residual" {
            (residual.df, residual.sum_of_squares, residual.mean_square.unwrap())
        } else {
            near(source.f.unwrap(), number(&row[5]), "F");
            near(source.p_value.unwrap(), number(&row[6]), "p");
            (source.df, source.sum_of_squares, source.mean_square)
        };
        near(df, number(&row[2]), &row[1]);
        near(squares, number(&row[3]), &row[1]);
        near(mean, number(&row[4]), &row[1]);
    }
}

/// Four policies, five replications each: the first row of the reference.
#[test]
fn a_one_way_table_as_published() {
    let groups = [
        [295.235, 294.72, 291.225, 294.192, 294.927],
        [318.17, 315.705, 317.283, 316.532, 316.787],
        [322.591, 319.789, 320.951, 322.327, 320.125],
        [316.832, 317.166, 317.096, 315.162, 317.114],
    ];
    let levels = [[0], [1], [2], [3]];
    let observations: Vec<Observation<'_>> = groups
        .iter()
        .zip(&levels)
        .flat_map(|(values, levels)| values.iter().map(|&value| Observation { levels, value }))
        .collect();
    let table = Anova::of(&observations, 1).unwrap();
    let source = &table.sources[0];
    near(source.sum_of_squares, 2_256.754_731_750_000_7, "SS");
    near(source.f.unwrap(), 516.850_228_385_825_3, "F");
    near(source.p_value.unwrap(), 3.935_240_868_399_903_4e-16, "p");
    // ω² = (SS − 3·MSE) / (SST + MSE).
    let error = 23.287_259_200_000_18 / 16.0;
    let omega = (source.sum_of_squares - 3.0 * error) / (table.total + error);
    near(source.omega_squared.unwrap(), omega, "omega");
}

/// An interval at 95% holds the effect that was put in, in about 95 of 100 designs; and a drift of
/// 1% from run to run in random order shifts it by less than one standard error in the mean.
#[test]
fn intervals_of_effects_hold_the_truth() {
    let design = plimsoll_stats::design::Fraction::best(5, 1).unwrap().runs();
    let mut random = Xorshift(41);
    let (mut held, mut bias, mut errors) = (0, 0.0, 0.0);
    let rounds = 1000;
    for _ in 0..rounds {
        let mut order: Vec<usize> = (0..2 * design.len()).collect();
        for last in (1..order.len()).rev() {
            order.swap(last, random.below(last + 1));
        }
        let rows: Vec<(Vec<i8>, f64, f64)> = order
            .iter()
            .enumerate()
            .map(|(at, &cell)| {
                let levels = design[cell / 2].clone();
                let value = 100.0 + 8.0 * f64::from(levels[0]) + 3.0 * random.normal();
                let drifted = value * (1.0 + 0.01 * at as f64);
                (levels, value, drifted)
            })
            .collect();
        let plain: Vec<_> = rows.iter().map(|(levels, v, _)| (levels.clone(), *v)).collect();
        let interval = of(&plain, 0.95).effects[0].interval.unwrap();
        held += u32::from(interval.low <= 8.0 && 8.0 <= interval.high);
        let drifted: Vec<_> = rows.iter().map(|(levels, _, v)| (levels.clone(), *v)).collect();
        let found = of(&drifted, 0.95);
        // The mean level of the drift scales all effects alike.
        bias += found.effects[0].coefficient / 1.155 - 8.0;
        errors += found.error.unwrap().deviation / 32.0_f64.sqrt();
    }
    assert!((930..=970).contains(&held), "{held} of {rounds}");
    let (bias, error) = (bias / f64::from(rounds), errors / f64::from(rounds));
    assert!(bias.abs() < error, "{bias} of {error}");
}

#[test]
fn least_squares_of_main_effects_are_unbiased_where_runs_are_missing() {
    let mut rows = plimsoll_stats::design::Fraction::best(5, 1).unwrap().runs();
    rows.truncate(13);
    let mut random = Xorshift(43);
    let held = (0..1000)
        .filter(|_| {
            let values: Vec<[f64; 2]> = rows
                .iter()
                .map(|row| {
                    let mean = 100.0 + 8.0 * f64::from(row[0]) - 5.0 * f64::from(row[3]);
                    [mean + 3.0 * random.normal(), mean + 3.0 * random.normal()]
                })
                .collect();
            let runs: Vec<Run<'_>> =
                rows.iter().zip(&values).map(|(levels, values)| Run { levels, values }).collect();
            let interval = main_effects(&runs, 0.95).unwrap().effects[3].interval.unwrap();
            interval.low <= -5.0 && -5.0 <= interval.high
        })
        .count();
    assert!((930..=970).contains(&held), "{held} of 1000");
}
