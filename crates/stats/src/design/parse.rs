//! Reading designs: `full`, `one-at-a-time`, `screening`, `fractional 2^(5-2) D=AB E=AC`.

use plimsoll_units::{ParseError, nearest};

use super::{Design, DesignError, Fraction, Generator, MOST_FACTORS, Word};

const WANTED: &str = "a design such as full or fractional 2^(5-1)";
const DESIGNS: &str = "designs are full, fractional 2^(5-1), one-at-a-time and screening";
const SIZE: &str = "the size of a fraction such as 2^(5-1)";
const GENERATOR: &str = "a generator such as E=ABCD";
const LETTERS: &str = "factors have the letters A to P without I, in the order of the plan";
const KNOWN: [&str; 4] = ["full", "fractional", "one-at-a-time", "screening"];
/// Words of other tools for the same things.
const SYNONYMS: [(&str, &str); 6] = [
    ("factorial", "full"),
    ("full-factorial", "full"),
    ("fraction", "fractional"),
    ("fractional-factorial", "fractional"),
    ("ofat", "one-at-a-time"),
    ("oat", "one-at-a-time"),
];

pub(super) fn design(text: &str) -> Result<Design, ParseError> {
    let mut words = words(text);
    let Some((at, word)) = words.next() else {
        return Err(ParseError::new(WANTED, "", text.len(), 0).hint(DESIGNS));
    };
    let design = match word {
        "full" => Design::Full,
        "one-at-a-time" => Design::OneAtATime,
        "screening" => Design::Screening,
        "fractional" => return fractional(text, at + word.len()).map(Design::Fractional),
        _ => return Err(unknown(at, word)),
    };
    match words.next() {
        None => Ok(design),
        Some((at, more)) => {
            let wanted = format!("nothing after {word}");
            Err(ParseError::new(wanted, more, at, more.len()).hint(DESIGNS))
        }
    }
}

fn unknown(at: usize, word: &str) -> ParseError {
    let error = ParseError::new(WANTED, word, at, word.len());
    if word.starts_with("2^") {
        return error.hint("write `fractional` before its size: fractional 2^(5-1)");
    }
    let synonym = SYNONYMS.iter().find(|(other, _)| word.eq_ignore_ascii_case(other));
    match synonym.map(|(_, own)| *own).or_else(|| nearest(word, KNOWN)) {
        Some("fractional") => error.hint("write fractional 2^(5-1)"),
        Some(own) => error.hint(format!("did you mean {own}?")),
        None => error.hint(DESIGNS),
    }
}

/// Reads what stands after `fractional`, from that byte of the text.
fn fractional(text: &str, from: usize) -> Result<Fraction, ParseError> {
    let rest = &text[from..];
    let start = from + (rest.len() - rest.trim_start().len());
    let end = text[start..].find(')').map_or(text.len(), |at| start + at + 1);
    let found = text[start..end].trim_end();
    let Some((factors, generated)) = size(found) else {
        // Without its end the size may be all of the text: the first word is enough.
        let found = if text[start..].contains(')') { found } else { first_word(found) };
        return Err(ParseError::new(SIZE, found, start, found.len())
            .hint("2^(5-1) runs 5 factors in half of their 2^5 combinations"));
    };
    let wrong = |error: DesignError| {
        let (wanted, hint) = size_of(error);
        ParseError::new(wanted, found, start, found.len()).hint(hint)
    };
    if generated == 0 {
        let wanted = "a fraction with at least one generated factor, such as 2^(5-1)";
        return Err(ParseError::new(wanted, found, start, found.len())
            .hint("write full for all combinations"));
    }
    let best = Fraction::best(factors, generated).map_err(wrong)?;
    let chosen: Vec<(usize, &str)> =
        words(&text[end..]).map(|(at, word)| (end + at, word)).collect();
    if chosen.is_empty() {
        return Ok(best);
    }
    let mut generators = vec![];
    for &(at, word) in &chosen {
        if generators.len() == generated {
            let wanted = format!("{generated} generators for 2^({factors}-{generated})");
            return Err(ParseError::new(wanted, word, at, word.len()).hint("leave it out"));
        }
        generators.push(generator(word).map_err(|error| error.shifted(at))?);
    }
    if generators.len() < generated {
        let (wanted, at) = (
            format!("{generated} generators for 2^({factors}-{generated})"),
            text.trim_end().len(),
        );
        let hint = format!("{} stand there: write the others too, or none", generators.len());
        return Err(ParseError::new(wanted, "", at, 0).hint(hint));
    }
    Fraction::of(factors, &generators).map_err(|error| match error.generator() {
        Some(number) => wrong_generator(error, chosen[number]),
        None => wrong(error),
    })
}

/// What was wanted instead of an impossible size, and what to write.
fn size_of(error: DesignError) -> (String, String) {
    let DesignError::TooFewRuns { factors, most, .. } = error else {
        let wanted = format!("a fraction of 3 to {MOST_FACTORS} factors");
        return (wanted, "leave factors out, or set several keys by one factor".to_owned());
    };
    if most == 0 {
        let wanted = "a fraction of 3 factors or more".to_owned();
        return (wanted, "write full for all combinations".to_owned());
    }
    let wanted = format!("at most {most} generated of {factors} factors");
    (wanted, format!("2^({factors}-{most}) has the fewest runs that tell {factors} factors apart"))
}

fn wrong_generator(error: DesignError, (at, word): (usize, &str)) -> ParseError {
    use super::letter;
    let wrong = |wanted: &str| ParseError::new(wanted, word, at, word.len());
    match error {
        DesignError::UnknownFactor { factors, .. } => {
            wrong(&format!("a generator of the factors A to {}", letter(factors - 1))).hint(LETTERS)
        }
        DesignError::Twice { factor, .. } => {
            wrong(&format!("one generator of {}", letter(factor))).hint("leave one out")
        }
        DesignError::Generated { factor, .. } => {
            let factor = letter(factor);
            wrong("a product of factors that have no generator themselves")
                .hint(format!("write what {factor} is the product of instead of {factor}"))
        }
        DesignError::Confounded { word, .. } => wrong(
            "a generator by which all factors change independently",
        )
        .hint(format!("by this one {word} would be the same in every run: choose another product")),
        DesignError::Factors { .. } | DesignError::TooFewRuns { .. } => wrong(GENERATOR),
    }
}

/// Reads `2^(5-1)`; blanks may stand between its parts.
fn size(text: &str) -> Option<(usize, usize)> {
    let inside = text.strip_prefix('2')?.trim_start().strip_prefix('^')?.trim_start();
    let inside = inside.strip_prefix('(')?.strip_suffix(')')?;
    let (factors, generated) = inside.split_once(['-', '−'])?;
    Some((number(factors)?, number(generated)?))
}

/// Reads a number of at most three digits: what is too large is told as that.
fn number(text: &str) -> Option<usize> {
    let digits = text.trim();
    let short = (1..=3).contains(&digits.len()) && digits.bytes().all(|b| b.is_ascii_digit());
    short.then(|| digits.parse().ok())?
}

/// Reads `E=ABCD` or `E=-ABCD`.
fn generator(text: &str) -> Result<Generator, ParseError> {
    let wrong = |at: usize, hint: &str| {
        let found = &text[at..];
        ParseError::new(GENERATOR, found, at, found.len()).hint(hint)
    };
    let Some((left, right)) = text.split_once('=') else {
        return Err(wrong(0, "a generator is a factor, =, and the factors it is the product of"));
    };
    let factor = Word::read(left).map_err(|at| wrong(at, LETTERS))?;
    let (true, false, Some(number)) =
        (factor.order() == 1, factor.is_negative(), factor.factors().next())
    else {
        return Err(wrong(0, "one factor stands before the =; a sign stands after it: E=-ABCD"));
    };
    let from = left.len() + 1;
    let product = Word::read(right).map_err(|at| {
        let again = "each letter stands there once; factors have the letters A to P without I";
        wrong(from + at, again)
    })?;
    if product.order() == 0 {
        let hint = "write the factors it is the product of";
        return Err(ParseError::new(GENERATOR, "", text.len(), 0).hint(hint));
    }
    Ok(Generator { factor: number, product })
}

fn first_word(text: &str) -> &str {
    text.split_whitespace().next().unwrap_or_default()
}

/// The words of a text, which blanks and commas divide, with their places.
fn words(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let place = |word: &str| word.as_ptr() as usize - text.as_ptr() as usize;
    let parts = text.split(|c: char| c.is_whitespace() || c == ',');
    parts.filter(|word| !word.is_empty()).map(move |word| (place(word), word))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn read(text: &str) -> Fraction {
        match design(text) {
            Ok(Design::Fractional(fraction)) => fraction,
            other => panic!("{text}: {other:?}"),
        }
    }

    #[test]
    fn sizes_and_generators_are_read() {
        assert_eq!(read("fractional 2^(5-1)"), Fraction::best(5, 1).unwrap());
        assert_eq!(read("  fractional   2 ^ ( 5 − 1 ) "), Fraction::best(5, 1).unwrap());
        assert_eq!(read("fractional 2^(5-1) e=abcd"), Fraction::best(5, 1).unwrap());
        let chosen = read("fractional 2^(7-3) E=ABC, F=-BCD, G=ACD");
        let texts: Vec<String> = chosen.generators().iter().map(Generator::to_string).collect();
        assert_eq!(texts, ["E=ABC", "F=-BCD", "G=ACD"]);
        // The generated factors need not be the last.
        assert_eq!(read("fractional 2^(3-1) A=BC").words()[0].to_string(), "ABC");
    }

    /// What is wrong has a place in the text, says what could stand there, and has a hint.
    #[test]
    fn what_cannot_be_read_has_a_place_and_a_hint() {
        for (text, place, wanted, hint) in [
            ("", "", "a design such as", "designs are"),
            ("ful", "ful", "a design such as", "did you mean full?"),
            ("oat", "oat", "a design such as", "one-at-a-time"),
            ("2^(5-1)", "2^(5-1)", "a design such as", "fractional 2^(5-1)"),
            ("full 2^(5-1)", "2^(5-1)", "nothing after full", "designs are"),
            ("fractional", "", "the size of a fraction", "5 factors in half"),
            ("fractional half of it", "half", "the size of a fraction", "5 factors in half"),
            ("fractional 2^5", "2^5", "the size of a fraction", "5 factors in half"),
            ("fractional 3^(5-1)", "3^(5-1)", "the size of a fraction", "5 factors in half"),
            ("fractional 2^(5-0)", "2^(5-0)", "at least one generated", "write full"),
            ("fractional 2^(5-3)", "2^(5-3)", "at most 2 generated of 5", "2^(5-2)"),
            ("fractional 2^(2-1)", "2^(2-1)", "3 factors or more", "write full"),
            ("fractional 2^(16-1)", "2^(16-1)", "3 to 15 factors", "leave factors out"),
            ("fractional 2^(5-1) E", "E", "a generator", "is a factor, =,"),
            ("fractional 2^(5-1) E=", "", "a generator", "write the factors"),
            ("fractional 2^(5-1) E=AI", "I", "a generator", "without I"),
            ("fractional 2^(5-1) E=ABB", "B", "a generator", "once"),
            ("fractional 2^(5-1) EF=AB", "EF=AB", "a generator", "one factor stands"),
            ("fractional 2^(5-1) -E=AB", "-E=AB", "a generator", "one factor stands"),
            ("fractional 2^(5-1) E=ABF", "E=ABF", "factors A to E", "the order of the plan"),
            ("fractional 2^(5-1) E=A", "E=A", "change independently", "AE would be"),
            ("fractional 2^(5-2) D=AB", "", "2 generators for 2^(5-2)", "1 stand there"),
            ("fractional 2^(5-1) E=AB D=AC", "D=AC", "1 generators", "leave it out"),
            ("fractional 2^(5-2) D=AB D=AC", "D=AC", "one generator of D", "leave one out"),
            ("fractional 2^(5-2) D=AB E=DC", "E=DC", "no generator themselves", "instead of D"),
        ] {
            let error = design(text).unwrap_err();
            assert_eq!(&text[error.at..error.at + error.len], place, "{text}: {error:?}");
            assert_eq!(error.found, place, "{text}");
            assert!(error.wanted.contains(wanted), "{text}: {}", error.wanted);
            let found = error.hint.unwrap();
            assert!(found.contains(hint), "{text}: {found}");
        }
    }

    proptest! {
        #[test]
        fn any_text_is_answered_with_a_place_within_it(
            text in "(fractional )?(2\\^\\([0-9]{1,3}[-−][0-9]{1,2}\\))?[ ,A-J=−-]{0,20}\
                     |\\PC{0,40}",
        ) {
            match design(&text) {
                Ok(read) => prop_assert_eq!(design(&read.to_string()), Ok(read)),
                Err(error) => prop_assert!(text.get(error.at..error.at + error.len).is_some()),
            }
        }
    }
}
