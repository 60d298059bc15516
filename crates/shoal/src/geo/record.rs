//! What is taken from a record of a geographic database, field by field.
//!
//! Two shapes of records are read as one: MaxMind's nested one (`location.latitude`,
//! `city.names.en`, `subdivisions[0].iso_code` …; MaxMind, "GeoIP2 City database") and the flat
//! ones of DB-IP's and IPinfo's files (`latitude` or `lat`, `longitude` or `lng`, `city`, `state1`,
//! `country_code` or `country` …), in which numbers may be texts. A field that is absent
//! or of another type than it should be is not there, whatever the others are; a record that ends
//! in nonsense has the fields before that.

use std::fmt;
use std::marker::PhantomData;

use serde::de::{Deserialize, Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};

/// Of a client's record.
#[derive(Debug, Default)]
pub(super) struct Where<'a> {
    pub(super) latitude: Option<f64>,
    pub(super) longitude: Option<f64>,
    pub(super) country: Option<&'a str>,
}

/// Of a cache's record.
#[derive(Debug, Default)]
pub(super) struct Whole<'a> {
    pub(super) location: Location<'a>,
    pub(super) city: Option<&'a str>,
    pub(super) region: Region<'a>,
    pub(super) postal_code: Option<&'a str>,
    pub(super) country: Named<'a>,
    pub(super) continent: Option<&'a str>,
}

/// `location`, or the same fields of a flat record.
#[derive(Debug, Default)]
pub(super) struct Location<'a> {
    pub(super) latitude: Option<f64>,
    pub(super) longitude: Option<f64>,
    pub(super) time_zone: Option<&'a str>,
    pub(super) metro_code: Option<u32>,
}

/// What has a code and names.
#[derive(Debug, Default)]
pub(super) struct Named<'a> {
    pub(super) code: Option<&'a str>,
    pub(super) english: Option<&'a str>,
}

/// The first subdivision.
#[derive(Debug, Default)]
pub(super) struct Region<'a> {
    pub(super) code: Option<&'a str>,
}

/// Takes from a map what it wants of it.
pub(super) trait Fields<'de>: Default {
    fn take<A: MapAccess<'de>>(&mut self, key: &str, map: &mut A) -> Result<(), A::Error>;
}

impl<'de> Fields<'de> for Where<'de> {
    fn take<A: MapAccess<'de>>(&mut self, key: &str, map: &mut A) -> Result<(), A::Error> {
        match key {
            "latitude" | "lat" => self.latitude = map.next_value::<Number>()?.0,
            "longitude" | "lng" | "lon" => self.longitude = map.next_value::<Number>()?.0,
            "country_code" => self.country = map.next_value::<Text<'_>>()?.0,
            "country" => {
                self.country = map.next_value::<MapOrCode<'_, Code<'_>>>()?.code(|one| one.0);
            }
            "location" => {
                let place = map.next_value::<Lenient<Location<'_>>>()?.0;
                (self.latitude, self.longitude) = (place.latitude, place.longitude);
            }
            _ => skip(map)?,
        }
        Ok(())
    }
}

impl<'de> Fields<'de> for Whole<'de> {
    fn take<A: MapAccess<'de>>(&mut self, key: &str, map: &mut A) -> Result<(), A::Error> {
        match key {
            "city" => self.city = map.next_value::<NameOrText<'_>>()?.0,
            "country" => match map.next_value::<MapOrCode<'_, Named<'_>>>()? {
                MapOrCode::Map(named) => self.country = named,
                MapOrCode::Code(code) => self.country.code = Some(code),
                MapOrCode::Neither => {}
            },
            "country_name" => self.country.english = map.next_value::<Text<'_>>()?.0,
            "continent" => {
                self.continent = map.next_value::<MapOrCode<'_, Code<'_>>>()?.code(|one| one.0);
            }
            "location" => self.location = map.next_value::<Lenient<Location<'_>>>()?.0,
            "postal" => self.postal_code = map.next_value::<Lenient<Code<'_>>>()?.0.0,
            "subdivisions" => self.region = map.next_value::<Lenient<Region<'_>>>()?.0,
            "country_code" => self.country.code = map.next_value::<Text<'_>>()?.0,
            "postcode" => self.postal_code = map.next_value::<Text<'_>>()?.0,
            "state1" => self.region.code = map.next_value::<Text<'_>>()?.0.filter(is_code),
            "timezone" => self.location.time_zone = map.next_value::<Text<'_>>()?.0,
            _ => self.location.take(key, map)?,
        }
        Ok(())
    }
}

impl<'de> Fields<'de> for Location<'de> {
    fn take<A: MapAccess<'de>>(&mut self, key: &str, map: &mut A) -> Result<(), A::Error> {
        match key {
            "latitude" | "lat" => self.latitude = map.next_value::<Number>()?.0,
            "longitude" | "lng" | "lon" => self.longitude = map.next_value::<Number>()?.0,
            "time_zone" => self.time_zone = map.next_value::<Text<'_>>()?.0,
            "metro_code" => self.metro_code = map.next_value::<Number>()?.whole(),
            _ => skip(map)?,
        }
        Ok(())
    }
}

impl<'de> Fields<'de> for Named<'de> {
    fn take<A: MapAccess<'de>>(&mut self, key: &str, map: &mut A) -> Result<(), A::Error> {
        match key {
            "iso_code" => self.code = map.next_value::<Text<'_>>()?.0,
            "names" => self.english = map.next_value::<Lenient<English<'_>>>()?.0.0,
            _ => skip(map)?,
        }
        Ok(())
    }
}

impl<'de> Fields<'de> for Region<'de> {
    fn take<A: MapAccess<'de>>(&mut self, key: &str, map: &mut A) -> Result<(), A::Error> {
        match key {
            "iso_code" => self.code = map.next_value::<Text<'_>>()?.0,
            _ => skip(map)?,
        }
        Ok(())
    }
}

/// The `code` or `iso_code` of a map.
#[derive(Debug, Default)]
struct Code<'a>(Option<&'a str>);

impl<'de> Fields<'de> for Code<'de> {
    fn take<A: MapAccess<'de>>(&mut self, key: &str, map: &mut A) -> Result<(), A::Error> {
        match key {
            "code" | "iso_code" => self.0 = map.next_value::<Text<'_>>()?.0,
            _ => skip(map)?,
        }
        Ok(())
    }
}

/// The `en` of a map.
#[derive(Debug, Default)]
struct English<'a>(Option<&'a str>);

impl<'de> Fields<'de> for English<'de> {
    fn take<A: MapAccess<'de>>(&mut self, key: &str, map: &mut A) -> Result<(), A::Error> {
        match key {
            "en" => self.0 = map.next_value::<Text<'_>>()?.0,
            _ => skip(map)?,
        }
        Ok(())
    }
}

/// Flat records have a subdivision's code or, more often, its name.
fn is_code(text: &&str) -> bool {
    text.len() <= 3 && text.bytes().all(|b| b.is_ascii_uppercase() || b.is_ascii_digit())
}

fn skip<'de, A: MapAccess<'de>>(map: &mut A) -> Result<(), A::Error> {
    map.next_value::<IgnoredAny>().map(|_| ())
}

/// `city` is a map with names in one shape and a text in the other.
struct NameOrText<'a>(Option<&'a str>);

impl<'de> Deserialize<'de> for NameOrText<'de> {
    fn deserialize<D: Deserializer<'de>>(source: D) -> Result<Self, D::Error> {
        Ok(match source.deserialize_any(Any::<Named<'_>>(PhantomData))? {
            FieldValue::Fields(named) => Self(named.english),
            FieldValue::Text(text) => Self(Some(text)),
            FieldValue::Number(_) | FieldValue::Other => Self(None),
        })
    }
}

/// A country or a continent is a map in one shape and a code of two letters in the other, where a
/// longer text is a name.
enum MapOrCode<'a, F> {
    Map(F),
    Code(&'a str),
    Neither,
}

impl<'a, F> MapOrCode<'a, F> {
    fn code(self, of_map: impl Fn(F) -> Option<&'a str>) -> Option<&'a str> {
        match self {
            Self::Map(map) => of_map(map),
            Self::Code(code) => Some(code),
            Self::Neither => None,
        }
    }
}

impl<'de, F: Fields<'de>> Deserialize<'de> for MapOrCode<'de, F> {
    fn deserialize<D: Deserializer<'de>>(source: D) -> Result<Self, D::Error> {
        Ok(match source.deserialize_any(Any::<F>(PhantomData))? {
            FieldValue::Fields(map) => Self::Map(map),
            FieldValue::Text(code) if code.len() == 2 => Self::Code(code),
            FieldValue::Text(_) | FieldValue::Number(_) | FieldValue::Other => Self::Neither,
        })
    }
}

/// The fields of a map, or of the first map of a list; none of anything else.
pub(super) struct Lenient<F>(pub(super) F);

impl<'de, F: Fields<'de>> Deserialize<'de> for Lenient<F> {
    fn deserialize<D: Deserializer<'de>>(source: D) -> Result<Self, D::Error> {
        Ok(match source.deserialize_any(Any::<F>(PhantomData))? {
            FieldValue::Fields(fields) => Self(fields),
            FieldValue::Text(_) | FieldValue::Number(_) | FieldValue::Other => Self(F::default()),
        })
    }
}

struct Text<'a>(Option<&'a str>);

impl<'de> Deserialize<'de> for Text<'de> {
    fn deserialize<D: Deserializer<'de>>(source: D) -> Result<Self, D::Error> {
        Ok(match source.deserialize_any(Any::<Nothing>(PhantomData))? {
            FieldValue::Text(text) if !text.is_empty() => Self(Some(text)),
            _ => Self(None),
        })
    }
}

struct Number(Option<f64>);

impl Number {
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "within its type")]
    fn whole(&self) -> Option<u32> {
        self.0.filter(|x| (0.0..=f64::from(u32::MAX)).contains(x)).map(|x| x as u32)
    }
}

impl<'de> Deserialize<'de> for Number {
    fn deserialize<D: Deserializer<'de>>(source: D) -> Result<Self, D::Error> {
        Ok(match source.deserialize_any(Any::<Nothing>(PhantomData))? {
            FieldValue::Number(x) => Self(Some(x)),
            FieldValue::Text(text) => {
                Self(text.trim().parse().ok().filter(|x: &f64| x.is_finite()))
            }
            _ => Self(None),
        })
    }
}

#[derive(Default)]
struct Nothing;

impl<'de> Fields<'de> for Nothing {
    fn take<A: MapAccess<'de>>(&mut self, _: &str, map: &mut A) -> Result<(), A::Error> {
        skip(map)
    }
}

/// A value of a record.
enum FieldValue<'a, F> {
    Fields(F),
    Text(&'a str),
    Number(f64),
    Other,
}

struct Any<F>(PhantomData<F>);

impl<'de, F: Fields<'de>> Visitor<'de> for Any<F> {
    type Value = FieldValue<'de, F>;

    fn expecting(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("anything")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
        let mut fields = F::default();
        // A record that is broken from here on still has what it said before.
        while let Ok(Some(key)) = map.next_key::<&str>() {
            if fields.take(key, &mut map).is_err() {
                break;
            }
        }
        Ok(FieldValue::Fields(fields))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Self::Value, A::Error> {
        let first = list.next_element::<Lenient<F>>()?;
        while list.next_element::<IgnoredAny>()?.is_some() {}
        Ok(first.map_or(FieldValue::Other, |first| FieldValue::Fields(first.0)))
    }

    fn visit_borrowed_str<E>(self, text: &'de str) -> Result<Self::Value, E> {
        Ok(FieldValue::Text(text))
    }

    fn visit_str<E>(self, _: &str) -> Result<Self::Value, E> {
        Ok(FieldValue::Other)
    }

    fn visit_f64<E>(self, x: f64) -> Result<Self::Value, E> {
        Ok(FieldValue::Number(x))
    }

    fn visit_f32<E>(self, x: f32) -> Result<Self::Value, E> {
        Ok(FieldValue::Number(shortest(x)))
    }

    #[expect(clippy::cast_precision_loss, reason = "a code or a coordinate is small")]
    fn visit_u64<E>(self, n: u64) -> Result<Self::Value, E> {
        Ok(FieldValue::Number(n as f64))
    }

    #[expect(clippy::cast_precision_loss, reason = "a code or a coordinate is small")]
    fn visit_i64<E>(self, n: i64) -> Result<Self::Value, E> {
        Ok(FieldValue::Number(n as f64))
    }

    fn visit_u128<E>(self, _: u128) -> Result<Self::Value, E> {
        Ok(FieldValue::Other)
    }

    fn visit_bool<E>(self, _: bool) -> Result<Self::Value, E> {
        Ok(FieldValue::Other)
    }

    fn visit_borrowed_bytes<E>(self, _: &'de [u8]) -> Result<Self::Value, E> {
        Ok(FieldValue::Other)
    }

    fn visit_bytes<E>(self, _: &[u8]) -> Result<Self::Value, E> {
        Ok(FieldValue::Other)
    }
}

/// The shortest decimal that is nearest to this number among those of single precision: 46.2296,
/// and not the 46.22959899902344 that the same bits are in double precision.
#[expect(clippy::cast_possible_truncation, reason = "that is what is tried")]
fn shortest(x: f32) -> f64 {
    // Four places and fewer: a spacing of at most 1.6e-5 within ±180 leaves no doubt which.
    let rounded = (f64::from(x) * 1e4).round() / 1e4;
    if (rounded as f32).to_bits() == x.to_bits() && x.abs() < 256.0 {
        return rounded;
    }
    zmij::Buffer::new().format(x).parse().unwrap_or(f64::from(x))
}

#[cfg(test)]
mod tests {
    use super::shortest;

    #[test]
    #[expect(clippy::cast_possible_truncation, reason = "that is what is tried")]
    fn single_precision_comes_out_as_the_shortest_decimal() {
        // As few digits as the standard library needs, though it may end a tie otherwise.
        let check = |single: f32| {
            let decimal = shortest(single);
            assert_eq!((decimal as f32).to_bits(), single.to_bits(), "{single}");
            assert_eq!(decimal.to_string().len(), single.to_string().len(), "{single}");
        };
        for single in [46.2296, 139.768, -3.20103, 0.0, -0.0, -123.362, 180.0, 1e-5, 89.9, 3e8] {
            check(single);
        }
        for step in 0..50_000_u16 {
            check(f32::from(step).mul_add(0.007_200_7, -180.0));
        }
        assert!(shortest(f32::NAN).is_nan());
        assert!(shortest(f32::INFINITY).is_infinite());
    }
}
