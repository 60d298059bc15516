//! Texts with holes: what is read, what is filled in, and how it is encoded.

use super::*;

/// Knows the variable `a`, and a data file.
struct Few {
    places: u32,
}

impl Names for Few {
    fn named(&mut self, name: &str, _: bool) -> Result<Value, ParseError> {
        match name {
            "a" => Ok(Value::Variable(0)),
            "n" => Ok(Value::Variable(1)),
            "d.x" => Ok(Value::Column { data: 0, column: 0 }),
            "env.KEY" => Ok(Value::Fixed("k&v".into())),
            _ => Err(ParseError::new("a name", name, 0, name.len())),
        }
    }

    fn place(&mut self) -> u32 {
        self.places += 1;
        self.places - 1
    }
}

fn parsed(text: &str, encoding: Encoding) -> Result<Text, ParseError> {
    Text::parse(text, encoding, &mut Few { places: 0 })
}

fn rendered(text: &Text, variables: &[Held], user: u64) -> Result<String, Unfilled> {
    let data = [Data::read("d", b"x\nrow 0\nrow 1\n").unwrap()];
    let mut visits = [0; 8];
    let draws = Draws { key: 7, user, visits: &mut visits };
    let rows = [1];
    let unix_ns = 1_764_201_600_000_000_000;
    let mut values = Values {
        variables,
        data: &data,
        rows: &rows,
        counter: 3,
        round: 2,
        unix_ns,
        sent: None,
        draws,
        traceparents: None,
        traceparent: None,
    };
    let mut out = Vec::new();
    text.render(&mut values, &mut out)?;
    Ok(String::from_utf8(out).unwrap())
}

fn of(text: &str, encoding: Encoding) -> String {
    let variables = [Held::Text("x y".into()), Held::Json("17".into())];
    rendered(&parsed(text, encoding).unwrap(), &variables, 5).unwrap()
}

#[test]
fn holes_are_filled_in_by_where_they_stand() {
    assert_eq!(of("{{a}}-{{ n }}-{{d.x}}", Encoding::Raw), "x y-17-row 1");
    assert_eq!(of("{{counter}}/{{user}}/{{loop}}", Encoding::Raw), "3/5/2");
    assert_eq!(of("/p/{{a}}?q={{a}}&k={{env.KEY}}", Encoding::Path), "/p/x%20y?q=x%20y&k=k%26v");
    assert_eq!(of("{{a | urlencode | base64}}", Encoding::Raw), "eCUyMHk=");
    assert_eq!(of(r"\{{a}} {{a}}", Encoding::Raw), "{{a}} x y");
    assert_eq!(of("{{date:unix}}", Encoding::Raw), "1764201600");
    assert_eq!(of("/ü?x=é", Encoding::Path), "/%C3%BC?x=%C3%A9");
}

#[test]
fn a_default_stands_in_for_nothing() {
    let text = parsed("{{a or \"no | body\"}}{{a or 'x'}}", Encoding::Raw).unwrap();
    assert_eq!(rendered(&text, &[Held::Nothing], 0).unwrap(), "no | bodyx");
    let bare = parsed("{{a}}", Encoding::Raw).unwrap();
    let error = rendered(&bare, &[Held::Text("".into())], 0).unwrap_err();
    assert_eq!(error, Unfilled { name: "a".to_owned(), is_unfit: false });
}

#[test]
fn json_keeps_numbers_and_escapes_texts() {
    let json = crate::scenario::Json::Object(vec![
        (Text::literal(b"k"), crate::scenario::Json::Text(parsed("{{n}}", Encoding::Raw).unwrap())),
        (Text::literal(b"a"), crate::scenario::Json::Text(parsed("{{a}}", Encoding::Raw).unwrap())),
        (
            Text::literal(b"both"),
            crate::scenario::Json::List(vec![
                crate::scenario::Json::Text(parsed("{{n}}!", Encoding::Raw).unwrap()),
                crate::scenario::Json::Switch(true),
                crate::scenario::Json::Real(0.5),
            ]),
        ),
    ]);
    let variables = [Held::Text("\"q\"".into()), Held::Json("17".into())];
    let said = rendered(&json.to_text(), &variables, 0).unwrap();
    assert_eq!(said, r#"{"k":17,"a":"\"q\"","both":["17!",true,0.5]}"#);
}

#[test]
fn a_form_is_encoded_once() {
    let value = parsed("a b&{{a}}", Encoding::Raw).unwrap();
    let mut writing = Writing::default();
    writing.text(&value, Encoding::Form);
    let said = rendered(&writing.finish(), &[Held::Text("x y".into())], 0).unwrap();
    assert_eq!(said, "a+b%26x+y");
}

#[test]
fn draws_hang_on_user_and_place_alone() {
    let both = parsed("{{random:1..1000000}} {{random:1..1000000}}", Encoding::Raw).unwrap();
    let said = |user| rendered(&both, &[], user).unwrap();
    assert_eq!(said(1), said(1));
    assert_ne!(said(1), said(2));
    let (first, second) =
        said(1).split_once(' ').map(|(a, b)| (a.to_owned(), b.to_owned())).unwrap();
    assert_ne!(first, second);
    let uuid = rendered(&parsed("{{uuid}}", Encoding::Raw).unwrap(), &[], 1).unwrap();
    assert_eq!((uuid.len(), &uuid[14..15]), (36, "4"), "{uuid}");
}

#[test]
fn what_is_wrong_is_said_at_its_place() {
    let said = |text: &str| {
        let error = parsed(text, Encoding::Raw).unwrap_err();
        (error.at, error.found, error.hint)
    };
    assert_eq!(said("x {{b}}").0, 4);
    assert_eq!(said("x {{a").1, "{{a");
    assert_eq!(
        said("{{a | urlencod}}"),
        (6, "urlencod".into(), Some("did you mean `urlencode`?".into()))
    );
    assert_eq!(said("{{random:5..1}}").2, Some("least first: {{random:1..5}}".into()));
    assert_eq!(said("{{a b}}").1, "b");
    assert_eq!(said("{{}}").2, Some("write \\{{ for {{ itself".into()));
}
