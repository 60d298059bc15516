//! The reader survives any text: right plans cut, doubled, and with bytes changed, under seeds.

use plimsoll_plan::Setting;
use plimsoll_workload::random::Stream;

const SEEDS: u64 = 4_000;
/// Pieces that matter to the reader, to be put anywhere.
const PIECES: [&str; 28] = [
    "\"",
    "'",
    "\"\"\"",
    "'''",
    "\\",
    "\\u",
    "\\U0010ffff",
    "\\x4",
    "\n",
    "\r\n",
    "\r",
    "\u{feff}",
    "é",
    "🦀",
    "\u{202e}",
    "[",
    "]",
    "{",
    "}",
    ".",
    "=",
    ",",
    "#",
    "{{",
    "}}",
    "..",
    "\t",
    "\0",
];

/// Plans that are wrong, and three times as many that are right.
fn plans() -> Vec<String> {
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("tests");
    let mut plans = Vec::new();
    for part in ["golden"].into_iter().chain(["plans"; 12]) {
        let files = std::fs::read_dir(folder.join(part)).unwrap();
        let mut paths: Vec<_> = files.map(|entry| entry.unwrap().path()).collect();
        paths.retain(|path| path.extension().is_some_and(|e| e == "toml"));
        paths.sort();
        plans.extend(paths.iter().map(|path| std::fs::read_to_string(path).unwrap()));
    }
    plans
}

/// A place between two characters.
fn somewhere(text: &str, stream: &mut Stream) -> usize {
    let mut at = below(stream, text.len() + 1);
    while !text.is_char_boundary(at) {
        at -= 1;
    }
    at
}

fn below(stream: &mut Stream, n: usize) -> usize {
    usize::try_from(stream.below(n as u64)).unwrap()
}

/// One of the texts, changed in a few places.
pub(crate) fn mutate(plans: &[String], stream: &mut Stream) -> String {
    let mut text = plans[below(stream, plans.len())].clone();
    for _ in 0..=below(stream, 3) {
        let (a, b) = (somewhere(&text, stream), somewhere(&text, stream));
        let (from, to) = (a.min(b), a.max(b));
        match below(stream, 10) {
            0 => text.replace_range(from..to, ""),
            1 => text.insert_str(a, &String::from(&text[from..to])),
            2 => {
                let other = &plans[below(stream, plans.len())];
                let start = somewhere(other, stream);
                text.insert_str(a, &other[start..]);
            }
            3 => text.truncate(a),
            4 | 5 => text.insert_str(a, PIECES[below(stream, PIECES.len())]),
            // Small enough that the plan may stay right: another digit, a letter less, a line less.
            6 => {
                let digit = stream.below(10).to_string();
                text = text.replacen(char::is_numeric, &digit, 1 + below(stream, 3));
            }
            7 => drop(text.pop()),
            8 if a < text.len() => drop(text.remove(a)),
            _ => {
                let line = below(stream, text.lines().count().max(1));
                let kept = text.lines().enumerate().filter(|(n, _)| *n != line);
                text = kept.flat_map(|(_, line)| [line, "\n"]).collect();
            }
        }
    }
    text
}

#[test]
fn any_text_is_read_or_refused() {
    let plans = plans();
    let mut read = 0;
    for seed in 0..SEEDS {
        let mut stream = Stream::named(seed, "plan mutation");
        let text = mutate(&plans, &mut stream);
        match crate::parse(&text, "mutant.toml") {
            Ok(plan) => {
                read += 1;
                let printed = plan.to_toml();
                let again = crate::parse(&printed, "again.toml");
                assert!(again.is_ok(), "seed {seed}: {again:?}\n{text}\n{printed}");
            }
            Err(errors) => {
                assert!(!errors.errors.is_empty() && errors.errors.len() <= 20, "seed {seed}");
                for error in &errors.errors {
                    let said = error.to_string();
                    let plain = |c: char| c == '\n' || !c.is_control();
                    assert!(said.chars().all(plain), "seed {seed}: {said:?}");
                    let Some(excerpt) = &error.at.excerpt else { continue };
                    let chars = excerpt.text.chars().count();
                    let end = excerpt.start + excerpt.len;
                    assert!(
                        excerpt.len > 0 && end <= chars.max(excerpt.start + 1),
                        "seed {seed}: {said}"
                    );
                }
            }
        }
    }
    assert!(read > SEEDS / 50, "only {read} mutants were right: the test has lost its bite");
}

#[test]
fn any_flag_is_read_or_refused() {
    let keys: Vec<String> = plimsoll_plan::all_keys().map(|(path, _)| path).collect();
    let values =
        ["", "5", "500/s", "http://h/", "a:b", "é", "{{x", "1s", "..", "exp:1s", "true", "\u{0}"];
    for seed in 0..SEEDS {
        let mut stream = Stream::named(seed, "flag mutation");
        let settings: Vec<_> = (0..=below(&mut stream, 5))
            .map(|_| {
                let mut key = keys[below(&mut stream, keys.len())].clone();
                if below(&mut stream, 4) == 0 {
                    let at = somewhere(&key, &mut stream);
                    key.insert_str(at, [".", "x", "..", "é"][below(&mut stream, 4)]);
                }
                Setting::new(key, values[below(&mut stream, values.len())], "--flag")
            })
            .collect();
        if let Err(errors) = crate::assemble(&settings) {
            assert!(!errors.to_string().is_empty(), "seed {seed}");
        }
    }
}

#[test]
fn a_plan_of_nothing_but_mistakes_is_bounded() {
    let keys: String = (0..50_000).map(|n| format!("key{n} = {n}\n")).collect();
    let errors = crate::parse(&keys, "mutant.toml").unwrap_err();
    assert_eq!((errors.errors.len(), errors.left_out), (20, 50_000 + 2 - 20));
    assert!(errors.to_string().ends_with("and 49982 more"));
    let nested = format!("a = {}", "[".repeat(100_000));
    assert!(crate::parse(&nested, "mutant.toml").is_err());
    let dotted = format!("a{} = 1", ".a".repeat(10_000));
    assert!(crate::parse(&dotted, "mutant.toml").is_err());
}
