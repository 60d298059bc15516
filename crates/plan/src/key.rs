//! What a section of a plan is made of. [`section!`] says each key once: its name, what it takes,
//! what holds without it, an example, and what it means. The reader and the writer of the section,
//! the flags, the manual's tables and the schema for editors all go by that.

use crate::describe::Describe;
use crate::flag::Flag;

/// One key of a plan.
#[derive(Clone, Copy)]
pub struct Key {
    /// Its name within its section.
    pub name: &'static str,
    pub(crate) takes: &'static dyn Describe,
    pub(crate) without: Without,
    pub(crate) example: &'static str,
    pub(crate) about: &'static str,
    /// The flag of the command line that sets it, where it has one.
    pub flag: Option<Flag>,
}

/// What holds where a key is not given.
#[derive(Clone, Copy)]
pub(crate) enum Without {
    /// Nothing.
    Nothing,
    /// A value, as it stands behind the `=`.
    Value(fn() -> String),
    /// What follows from something else, in words.
    Said(&'static str),
}

impl Key {
    /// What it takes, in the words of the manual: `duration`, `rate`, …
    #[must_use]
    pub fn takes(&self) -> String {
        self.takes.takes()
    }

    /// What holds where it is not given, in the words of the manual; none where nothing does.
    #[must_use]
    pub fn default(&self) -> Option<String> {
        match self.without {
            Without::Nothing => None,
            Without::Value(value) => {
                let value = value();
                let bare = value.trim_matches('"');
                Some(bare.strip_suffix(".0").unwrap_or(bare).to_owned())
            }
            Without::Said(words) => Some(words.to_owned()),
        }
    }

    /// A value as it stands behind the `=`; empty for a section.
    #[must_use]
    pub fn example(&self) -> String {
        let is_bare = self.example.is_empty()
            || self.example.starts_with(['[', '{', '\'', '"'])
            || ["true", "false"].contains(&self.example)
            || self.example.parse::<f64>().is_ok();
        if is_bare { self.example.to_owned() } else { format!("\"{}\"", self.example) }
    }

    /// Whether a flag that sets it may be repeated.
    #[must_use]
    pub fn may_repeat(&self) -> bool {
        self.takes.is_list() || self.takes.is_map()
    }

    /// What it means, in one sentence.
    #[must_use]
    pub fn about(&self) -> &'static str {
        self.about.trim()
    }
}

impl std::fmt::Debug for SectionKeys {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.title())
    }
}

/// A section of a plan: `[load]`, or the table under a key: `load.trace`.
pub struct SectionKeys {
    /// Its path, `load` or `load.trace`; empty for the keys above the first section.
    pub path: &'static str,
    /// What it is, in one sentence.
    pub(crate) about: &'static str,
    /// Its keys, in the order in which a plan is printed, some of them in groups.
    pub(crate) groups: &'static [&'static [Key]],
    /// The key that a plain string in the table's place stands for.
    pub(crate) shorthand: Option<&'static str>,
    /// Keys that exclude each other.
    pub(crate) choices: &'static [&'static Choice],
}

/// Keys of which at most one may be given, each with the keys that make sense only with some of
/// them.
#[derive(Debug)]
pub(crate) struct Choice(pub(crate) &'static [(&'static str, &'static [&'static str])]);

impl SectionKeys {
    /// Its keys, in the order in which a plan is printed.
    pub fn keys(&self) -> impl Iterator<Item = &'static Key> + Clone + use<> {
        self.groups.iter().copied().flatten()
    }

    /// The section's own name: the last part of its path.
    pub(crate) fn name(&self) -> &'static str {
        self.path.rsplit('.').next().unwrap_or(self.path)
    }

    /// How the section is spoken of: `[load]`, `load.trace`.
    pub(crate) fn title(&self) -> String {
        match self.path {
            "" => "a plan".into(),
            path if path.contains('.') => path.into(),
            path => format!("[{path}]"),
        }
    }

    /// The key of a name.
    pub(crate) fn key(&self, name: &str) -> Option<&'static Key> {
        self.keys().find(|known| known.name == name)
    }

    pub(crate) fn has(&self, name: &str) -> bool {
        self.key(name).is_some()
    }
}

impl Choice {
    /// The keys.
    pub(crate) fn keys(&self) -> impl Iterator<Item = &'static str> + use<> {
        self.0.iter().map(|(key, _)| *key)
    }

    /// The keys of the choice that a companion key goes with; empty where it goes with all.
    pub(crate) fn companions_of(&self, key: &str) -> Vec<&'static str> {
        self.0.iter().filter(|(_, with)| with.contains(&key)).map(|(key, _)| *key).collect()
    }
}

/// Declares a section: its type, each field a key. A key is, in braces behind the field's name and
/// type, what it takes, what holds without it, and an example; its comment is the sentence of the
/// manual. The name of the key is that of the field, or stands in brackets before the braces;
/// behind them may stand the flag that sets it, `flag [Group::Search.flag("start", "RATE")]`.
///
/// - `{ SHARE, "5%" }`: there may be none, and the field is an `Option`. With `said "…"` before
///   the example the manual tells what holds then; with `usually 0.05` it is this value.
/// - `{ SHARE, or 0.05, "2%" }`: a value holds without it. With `said "…"` behind it the manual
///   tells it in words, and the expression may use the fields above it as they hold, and those
///   below it as they were read.
/// - `{ File, required "the `file`", "day.csv" }`: without it the plan is wrong.
/// - `{ part }`: several keys make the field: its type is a [`Part`](crate::section::Part).
///
/// Behind the section's path may stand the key for which a plain text in its place stands, the keys
/// that exclude each other, and keys that are read elsewhere (`also`); and `; read, write, default`
/// where nothing is to be said of how its values go together. Else its own functions of these names
/// go by `read_keys` and `write_keys`. A section within another one is `nested`.
///
/// With `[part]` in the place of the path it declares the keys of a part. A name without a type
/// declares nothing but the keys: of a section, or a list of them.
macro_rules! section {
    (
        $(#[doc = $head:literal])+
        [$path:literal $(, shorthand $shorthand:literal)? $(, choices $choices:expr)?
            $(, also $also:expr)? $(; $($plain:ident),+)?]
        $(#[$meta:meta])*
        $vis:vis struct $name:ident {
            $(
                $(#[doc = $about:literal])+
                $field:ident : $of:ty $([$key:literal])? { $($rest:tt)* } $(flag [$flag:expr])?
            )*
        }
    ) => {
        section!(@struct [$(#[doc = $head])+ $(#[$meta])*] $vis $name {
            $( $(#[doc = $about])+ $field : $of, (section!(@name $field $($key)?)) { $($rest)* } )*
        });

        impl $name {
            /// The keys of the section.
            pub(crate) const SECTION: &'static $crate::key::SectionKeys =
                &$crate::key::SectionKeys {
                    path: $path,
                    about: concat!($($head),+),
                    groups: &[
                        $( section!(@keys section!(@name $field $($key)?), concat!($($about),+),
                            section!(@option $($flag)?), $of, $($rest)*), )*
                        $($also)?
                    ],
                    shorthand: section!(@option $($shorthand)?),
                    choices: section!(@choices $($choices)?),
                };

            $( $( section!(@plain $plain); )+ )?
        }

        $( $( section!(@beside $plain $name); )+ )?
    };
    (
        [part]
        $(#[$meta:meta])*
        $vis:vis struct $name:ident {
            $(
                $(#[doc = $about:literal])+
                $field:ident : $of:ty $([$key:literal])? { $($rest:tt)* } $(flag [$flag:expr])?
            )*
        }
    ) => {
        section!(@struct [$(#[$meta])*] $vis $name {
            $( $(#[doc = $about])+ $field : $of, (section!(@name $field $($key)?)) { $($rest)* } )*
        });

        impl $crate::section::KeyList for $name {
            const KEYS: &'static [$crate::key::Key] = &[
                $( section!(@key section!(@name $field $($key)?), concat!($($about),+),
                    section!(@option $($flag)?), $($rest)*), )*
            ];

            fn read_keys(section: &$crate::section::Section<'_>) -> Option<Self> {
                Self::read_keys(section)
            }

            fn write_keys(&self, out: &mut $crate::write::Writer) {
                self.write_keys(out, &[]);
            }
        }
    };
    (
        $(#[doc = $head:literal])+
        [$path:literal]
        $name:ident { $($keys:tt)* }
    ) => {
        $(#[doc = $head])+
        pub(crate) static $name: $crate::key::SectionKeys = $crate::key::SectionKeys {
            path: $path,
            about: concat!($($head),+),
            groups: &[section!(@list $($keys)*)],
            shorthand: None,
            choices: &[],
        };
    };
    (
        $(#[doc = $head:literal])+
        $name:ident { $($keys:tt)* }
    ) => {
        $(#[doc = $head])+
        pub(crate) const $name: &[$crate::key::Key] = section!(@list $($keys)*);
    };

    (@list $( $(#[doc = $about:literal])+ $key:ident { $($rest:tt)* } )*) => {
        &[$( section!(@key stringify!($key), concat!($($about),+), None, $($rest)*), )*]
    };

    (@struct [$(#[$meta:meta])*] $vis:vis $name:ident {
        $( $(#[doc = $about:literal])+ $field:ident : $of:ty, ($key:expr) { $($rest:tt)* } )*
    }) => {
        $(#[$meta])*
        #[derive(Debug, Clone, PartialEq)]
        $vis struct $name {
            $( $(#[doc = $about])+ $vis $field: $of, )*
        }

        impl $name {
            /// The values of the keys; none where one is missing that has to be there.
            pub(crate) fn read_keys(section: &$crate::section::Section<'_>) -> Option<Self> {
                $( let $field = section!(@read section, $key, $of, $($rest)*); )*
                $( let $field = section!(@value $field, $($rest)*); )*
                Some(Self { $($field),* })
            }

            /// Writes every key that has a value and is none of those that are to be left out.
            pub(crate) fn write_keys(&self, out: &mut $crate::write::Writer, left_out: &[&str]) {
                $( if !left_out.contains(&$key) {
                    section!(@write self.$field, out, $key, $($rest)*);
                } )*
            }
        }
    };

    (@plain read) => {
        /// Reads the section.
        pub(crate) fn read(section: &$crate::section::Section<'_>) -> Option<Self> {
            Self::read_keys(section)
        }
    };
    (@plain write) => {
        /// Writes the section.
        pub(crate) fn write(&self, out: &mut $crate::write::Writer) {
            out.section(Self::SECTION.path);
            self.write_keys(out, &[]);
        }
    };
    (@plain $beside:ident) => {};
    (@beside default $name:ident) => {
        impl Default for $name {
            /// What holds where nothing is said.
            fn default() -> Self {
                let reading = $crate::reading::Reading::of_nothing();
                let section = $crate::section::Section::of_nothing(&reading, Self::SECTION);
                Self::read_keys(&section).unwrap_or_else(|| unreachable!("no key is required"))
            }
        }
    };
    (@beside nested $name:ident) => {
        impl $crate::nested::Nests for $name {
            const KEYS: &'static $crate::key::SectionKeys = Self::SECTION;

            fn read(section: &$crate::section::Section<'_>) -> Option<Self> {
                Self::read_keys(section)
            }

            fn write(&self, out: &mut $crate::write::Writer) {
                self.write_keys(out, &[]);
            }
        }
    };
    (@beside $plain:ident $name:ident) => {};
    (@name $field:ident) => { stringify!($field) };
    (@name $field:ident $key:literal) => { $key };
    (@option) => { None };
    (@option $some:expr) => { Some($some) };
    (@choices) => { &[] };
    (@choices $some:expr) => { $some };

    (@keys $name:expr, $about:expr, $flag:expr, $of:ty, part) => {
        <<$of as $crate::section::Part>::Keys as $crate::section::KeyList>::KEYS
    };
    (@keys $name:expr, $about:expr, $flag:expr, $of:ty, $($rest:tt)*) => {
        &[section!(@key $name, $about, $flag, $($rest)*)]
    };

    (@key $name:expr, $about:expr, $flag:expr, $takes:expr, $(required $what:literal,)?
        $example:literal) => {
        section!(@key $name, $about, $flag, $takes, Nothing, $example)
    };
    (@key $name:expr, $about:expr, $flag:expr, $takes:expr, $(or $default:expr,)?
        said $said:literal, $example:literal) => {
        section!(@key $name, $about, $flag, $takes, Said($said), $example)
    };
    (@key $name:expr, $about:expr, $flag:expr, $takes:expr, usually $default:expr,
        $example:literal) => {
        section!(@key $name, $about, $flag, $takes, or $default, $example)
    };
    (@key $name:expr, $about:expr, $flag:expr, $takes:expr, or $default:expr,
        $example:literal) => {
        section!(@key $name, $about, $flag, $takes,
            Value(|| $crate::value::Takes::write(&$takes, &$default)), $example)
    };
    (@key $name:expr, $about:expr, $flag:expr, $takes:expr, $without:ident $(($of:expr))?,
        $example:literal) => {
        $crate::key::Key {
            name: $name,
            takes: &$takes,
            without: $crate::key::Without::$without $(($of))?,
            example: $example,
            about: $about,
            flag: $flag,
        }
    };

    (@read $section:ident, $name:expr, $of:ty, part) => {
        <$of as $crate::section::Part>::read($section)
    };
    (@read $section:ident, $name:expr, $of:ty, $takes:expr, required $what:literal,
        $example:literal) => {
        $section.required($name, &$takes, $what, $example)
    };
    (@read $section:ident, $name:expr, $of:ty, $takes:expr, $($rest:tt)*) => {
        $section.get($name, &$takes)
    };

    (@value $field:ident, part) => { $field? };
    (@value $field:ident, $takes:expr, or $default:expr, $($rest:tt)*) => {
        $field.unwrap_or_else(|| $default)
    };
    (@value $field:ident, $takes:expr, required $($rest:tt)*) => { $field? };
    (@value $field:ident, $takes:expr, $(said $said:literal,)? $(usually $usual:expr,)?
        $example:literal) => { $field };

    (@write $self:ident.$field:ident, $out:ident, $name:expr, part) => {
        $crate::section::Part::write(&$self.$field, $out);
    };
    (@write $self:ident.$field:ident, $out:ident, $name:expr, $takes:expr,
        $(said $said:literal,)? $(usually $usual:expr,)? $example:literal) => {
        $self.$field.iter().for_each(|value| $out.put($name, &$takes, value));
    };
    (@write $self:ident.$field:ident, $out:ident, $name:expr, $takes:expr, $($rest:tt)*) => {
        $out.put($name, &$takes, &$self.$field);
    };
}

#[cfg(test)]
#[expect(unreachable_pub, reason = "sections are public")]
mod tests {
    use crate::reading::Reading;
    use crate::reading::source::Source;
    use crate::reading::tree;
    use crate::section::Section;
    use crate::takes::{Count, Line};
    use crate::write::Writer;

    section! {
        /// A section of a test.
        ["tested"; read, write, default]
        pub struct Tested {
            /// How many there are.
            many: u32 { Count(1..=9_u32), or 3, "5" }
            /// How many there are at most.
            most: u32 ["max"] { Count(1..=99_u32), or 2 * many, said "twice as many", "7" }
            /// What it is called.
            name: Option<String> { Line("text"), "x y" }
        }
    }

    /// What is read of a text, or the first fault.
    fn read(text: &str) -> Result<Tested, String> {
        let mut source = Source::file("plan.toml", text);
        let root = tree::read(&mut source).unwrap();
        let reading = Reading::new(source, &[]);
        let tested = Tested::read(&Section::over(&reading, &root, Tested::SECTION));
        match tested {
            Some(tested) if !reading.is_faulty() => Ok(tested),
            _ => Err(reading.into_errors().to_string()),
        }
    }

    #[test]
    fn all_that_a_key_is_follows_from_its_declaration() {
        let usual = Tested { many: 3, most: 6, name: None };
        assert_eq!((read("").unwrap(), Tested::default()), (usual.clone(), usual));
        let said = read("many = 4\nname = 'a'").unwrap();
        assert_eq!(said, Tested { many: 4, most: 8, name: Some("a".to_owned()) });
        let mut out = Writer::default();
        said.write(&mut out);
        assert_eq!(out.finish(), "[tested]\nmany = 4\nmax = 8\nname = \"a\"\n");
        for (text, fault) in [
            ("many = 10", "plan.toml:1:8: expected a whole number from 1 to 9"),
            ("name = 5", "plan.toml:1:8: expected text"),
            ("most = 7", "unknown key `most`"),
        ] {
            let found = read(text).unwrap_err();
            assert!(found.contains(fault), "{found}");
        }
        let rows = Tested::SECTION.keys().map(|key| {
            let default = key.default().unwrap_or_default();
            format!("{}, {}, {default}, {}, {}", key.name, key.takes(), key.example(), key.about())
        });
        let wanted = [
            "many, count, 3, 5, How many there are.",
            "max, count, twice as many, 7, How many there are at most.",
            "name, text, , \"x y\", What it is called.",
        ];
        assert_eq!(rows.collect::<Vec<_>>(), wanted);
    }
}
