//! The fields of one JSON object, each at most once, whatever their types.
//!
//! JSON itself (RFC 8259) leaves open what a name that is there twice means, and readers differ:
//! two of them could believe different things of one signed body. So it is refused, at any level,
//! known or not. What no field of ours is made of (objects, arrays) is walked through for that, no
//! deeper than [`MAX_LEVELS`], and kept as [`Value::Nested`].

use std::borrow::Cow;
use std::fmt;

use serde::de::{DeserializeSeed, Deserializer, Error, MapAccess, SeqAccess, Visitor};

use super::Refusal;
use super::limits::{MAX_BYTES, MAX_LEVELS};

/// One field's value.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Value<'a> {
    /// Not there, or `null`.
    Absent,
    Bool(bool),
    Int(u64),
    Negative(i64),
    Float(f64),
    Text(Cow<'a, str>),
    /// An object or an array.
    Nested,
}

macro_rules! fields {
    ($($variant:ident $name:literal,)*) => {
        /// A field that means something to us.
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        pub(super) enum Field { $($variant,)* }

        impl Field {
            pub(super) const COUNT: usize = [$($name),*].len();

            /// As it stands in heartbeats.
            pub(super) fn name(self) -> &'static str {
                match self { $(Self::$variant => $name,)* }
            }

            fn named(name: &str) -> Option<Self> {
                match name { $($name => Some(Self::$variant),)* _ => None }
            }
        }
    };
}

fields! {
    Uuid "uuid",
    Hostname "hostname",
    CachePort "cache_port",
    SquidPort "squid_port",
    CacheType "cache_type",
    Verified "verified",
    MaxLoad "max_load",
    Upstream "upstream",
    PrivateIp "private_ip",
    PublicIp "public_ip",
    ExternalIp "external_ip",
    Timestamp "timestamp",
    Load "load",
    Interval "interval",
    Cloud "cloud",
    Version "version",
    Latitude "latitude",
    Longitude "longitude",
    Goodbye "goodbye",
}

/// Every field of one object.
#[derive(Debug)]
pub(super) struct Fields<'a> {
    values: [Value<'a>; Field::COUNT],
}

impl<'a> Fields<'a> {
    /// Reads one object and nothing after it.
    ///
    /// Text stays in `body` where it has no escapes; nothing is allocated for a heartbeat of known
    /// fields.
    ///
    /// # Errors
    ///
    /// [`Refusal::TooLong`], [`Refusal::Malformed`].
    pub(super) fn read(body: &'a [u8]) -> Result<Self, Refusal> {
        if body.len() > MAX_BYTES {
            return Err(Refusal::TooLong(body.len()));
        }
        // Told here, because serde would tell what is there instead, and quote it.
        if body.trim_ascii_start().first() != Some(&b'{') {
            return Err(Refusal::Malformed("not a JSON object".into()));
        }
        let mut json = serde_json::Deserializer::from_slice(body);
        json.deserialize_map(Object)
            .and_then(|fields| json.end().map(|()| fields))
            .map_err(|error| Refusal::Malformed(error.to_string()))
    }

    pub(super) fn get(&self, field: Field) -> &Value<'a> {
        &self.values[field as usize]
    }
}

struct Object;

impl<'de> Visitor<'de> for Object {
    type Value = Fields<'de>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Fields<'de>, A::Error> {
        let mut fields = Fields { values: [const { Value::Absent }; Field::COUNT] };
        let (mut seen, mut strangers) = (0_u32, Vec::new());
        while let Some(Name(name)) = map.next_key_seed(NameSeed)? {
            let value = map.next_value_seed(Any { level: 2 })?;
            match Field::named(&name) {
                None => strangers.push(name),
                Some(field) if seen >> field as u32 & 1 == 1 => {
                    return Err(A::Error::custom(format_args!("`{}` twice", field.name())));
                }
                Some(field) => {
                    seen |= 1 << field as u32;
                    fields.values[field as usize] = value;
                }
            }
        }
        each_once(strangers)?;
        Ok(fields)
    }
}

/// Refuses names that are there twice, without repeating them: they may be of any length.
fn each_once<E: Error>(mut names: Vec<Cow<'_, str>>) -> Result<(), E> {
    names.sort_unstable();
    if names.windows(2).any(|pair| pair[0] == pair[1]) {
        return Err(E::custom("an unknown name twice in one object"));
    }
    Ok(())
}

/// Any value, at that level of nesting; the heartbeat itself is level 1.
struct Any {
    level: usize,
}

impl Any {
    fn inner<E: Error>(&self) -> Result<Self, E> {
        if self.level > MAX_LEVELS {
            return Err(E::custom("more than 4 levels"));
        }
        Ok(Self { level: self.level + 1 })
    }
}

impl<'de> DeserializeSeed<'de> for Any {
    type Value = Value<'de>;

    fn deserialize<D: Deserializer<'de>>(self, json: D) -> Result<Value<'de>, D::Error> {
        json.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Any {
    type Value = Value<'de>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a value")
    }

    fn visit_unit<E: Error>(self) -> Result<Value<'de>, E> {
        Ok(Value::Absent)
    }

    fn visit_bool<E: Error>(self, value: bool) -> Result<Value<'de>, E> {
        Ok(Value::Bool(value))
    }

    fn visit_u64<E: Error>(self, value: u64) -> Result<Value<'de>, E> {
        Ok(Value::Int(value))
    }

    fn visit_i64<E: Error>(self, value: i64) -> Result<Value<'de>, E> {
        Ok(Value::Negative(value))
    }

    // Integers beyond 64 bits arrive here too: beyond every bound of ours.
    fn visit_f64<E: Error>(self, value: f64) -> Result<Value<'de>, E> {
        Ok(Value::Float(value))
    }

    fn visit_borrowed_str<E: Error>(self, value: &'de str) -> Result<Value<'de>, E> {
        Ok(Value::Text(Cow::Borrowed(value)))
    }

    fn visit_str<E: Error>(self, value: &str) -> Result<Value<'de>, E> {
        Ok(Value::Text(Cow::Owned(value.to_owned())))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Value<'de>, A::Error> {
        let level = self.inner::<A::Error>()?.level;
        while seq.next_element_seed(Any { level })?.is_some() {}
        Ok(Value::Nested)
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Value<'de>, A::Error> {
        let level = self.inner::<A::Error>()?.level;
        let mut names = Vec::new();
        while let Some(Name(name)) = map.next_key_seed(NameSeed)? {
            map.next_value_seed(Any { level })?;
            names.push(name);
        }
        each_once(names)?;
        Ok(Value::Nested)
    }
}

/// A name, its escapes undone.
struct Name<'a>(Cow<'a, str>);

struct NameSeed;

impl<'de> DeserializeSeed<'de> for NameSeed {
    type Value = Name<'de>;

    fn deserialize<D: Deserializer<'de>>(self, json: D) -> Result<Name<'de>, D::Error> {
        json.deserialize_str(self)
    }
}

impl<'de> Visitor<'de> for NameSeed {
    type Value = Name<'de>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a name")
    }

    fn visit_borrowed_str<E: Error>(self, name: &'de str) -> Result<Name<'de>, E> {
        Ok(Name(Cow::Borrowed(name)))
    }

    fn visit_str<E: Error>(self, name: &str) -> Result<Name<'de>, E> {
        Ok(Name(Cow::Owned(name.to_owned())))
    }
}
