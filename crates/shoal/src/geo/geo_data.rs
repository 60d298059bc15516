//! A place as the answers of Shoal's own paths tell it, to the letter: see [`crate::answer::old`].

use super::Place;
use crate::answer::{integer, python_float, string_or_null};

pub(super) fn geo_data(out: &mut Vec<u8>, place: &Place) {
    out.extend_from_slice(b"{\"city\": ");
    string_or_null(out, place.city.as_deref());
    out.extend_from_slice(b", \"region_code\": ");
    string_or_null(out, place.region_code.as_deref());
    out.extend_from_slice(b", \"time_zone\": ");
    string_or_null(out, place.time_zone.as_deref());
    out.extend_from_slice(b", \"metro_code\": ");
    match place.metro_code {
        Some(code) => integer(out, u64::from(code)),
        None => out.extend_from_slice(b"null"),
    }
    out.extend_from_slice(b", \"latitude\": ");
    python_float(place.latitude, out);
    out.extend_from_slice(b", \"longitude\": ");
    python_float(place.longitude, out);
    out.extend_from_slice(b", \"postal_code\": ");
    string_or_null(out, place.postal_code.as_deref());
    out.extend_from_slice(b", \"country_code\": ");
    string_or_null(out, place.country_code.as_deref());
    out.extend_from_slice(b", \"country_name\": ");
    string_or_null(out, place.country_name.as_deref());
    out.extend_from_slice(b", \"continent\": ");
    string_or_null(out, place.continent.as_deref());
    out.push(b'}');
}
