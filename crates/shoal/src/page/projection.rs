//! From degrees to units of the map: the Equal Earth projection.
//!
//! *Source*: Šavrič, Patterson, Jenny (2018), "The Equal Earth map projection", International
//! Journal of Geographical Information Science 33(3), 454–465, equations 1 and 2. The outline
//! `page/world.svg` was made by the same formula.

/// The map's width in its own units: all of the Equator.
pub const WIDTH: f64 = 2000.0;
/// The map's height in its own units: from 84° north to 57° south.
pub const HEIGHT: f64 = 870.0;

/// Half the Equator's length where the Earth's radius is 1.
const HALF: f64 = 2.706_629_983_696;
/// Units for a radius of 1.
const SCALE: f64 = WIDTH / (2.0 * HALF);
/// The ordinate of 84° north where the radius is 1.
const TOP: f64 = 1.306_713_138_887;

const A1: f64 = 1.340_264;
const A2: f64 = -0.081_106;
const A3: f64 = 0.000_893;
const A4: f64 = 0.003_796;

/// Where a place is on the map: units from the left, and from the top.
///
/// *Shape*: latitude and longitude in degrees. What is south of the map's end is below
/// [`HEIGHT`].
#[must_use]
pub fn project(latitude: f64, longitude: f64) -> (f64, f64) {
    let root = 3_f64.sqrt() / 2.0;
    let theta = (root * latitude.to_radians().sin()).asin();
    let square = theta * theta;
    let sixth = square * square * square;
    let narrowing = A1 + 3.0 * A2 * square + sixth * (7.0 * A3 + 9.0 * A4 * square);
    let x = longitude.to_radians() * theta.cos() / (root * narrowing);
    let y = theta * (A1 + A2 * square + sixth * (A3 + A4 * square));
    ((x + HALF) * SCALE, (TOP - y) * SCALE)
}
