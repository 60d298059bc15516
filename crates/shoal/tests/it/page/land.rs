//! The outline of the land and the dots on it are of one projection.

use plimsoll_shoal::page::assets::Asset;
use plimsoll_shoal::page::{HEIGHT, WIDTH, project};

type Ring = Vec<(f64, f64)>;

/// The outline's rings: each `M x y l dx dy …z`.
fn rings() -> Vec<Ring> {
    let svg = Asset::named("world.svg").unwrap().body;
    let (_, path) = svg.split_once(" d=\"").unwrap();
    let (path, _) = path.split_once('"').unwrap();
    path.split('M')
        .skip(1)
        .map(|ring| {
            let spaced = ring.replace(['l', 'z'], " ").replace('-', " -");
            let numbers: Vec<f64> = spaced.split_whitespace().map(|n| n.parse().unwrap()).collect();
            let mut at = (0.0, 0.0);
            let steps = numbers.chunks_exact(2);
            assert!(steps.remainder().is_empty(), "{ring}");
            steps
                .map(|step| {
                    at = (at.0 + step[0], at.1 + step[1]);
                    at
                })
                .collect()
        })
        .collect()
}

/// By the rule of even and odd crossings.
fn is_land(rings: &[Ring], latitude: f64, longitude: f64) -> bool {
    let (x, y) = project(latitude, longitude);
    let mut inside = false;
    for ring in rings {
        let ends = ring.iter().zip(ring.iter().cycle().skip(1));
        for ((x0, y0), (x1, y1)) in ends {
            if (*y0 > y) != (*y1 > y) && x < (x1 - x0) * (y - y0) / (y1 - y0) + x0 {
                inside = !inside;
            }
        }
    }
    inside
}

#[test]
fn cities_are_on_land_and_seas_are_not() {
    let rings = rings();
    assert!(rings.len() > 100, "{}", rings.len());
    for (name, latitude, longitude) in [
        ("Geneva", 46.2, 6.1),
        ("Chicago", 41.6, -88.2),
        ("Edmonton", 53.5, -113.5),
        ("Brasilia", -15.8, -47.9),
        ("Johannesburg", -26.2, 28.0),
        ("Nairobi", -1.3, 36.8),
        ("Delhi", 28.6, 77.2),
        ("Irkutsk", 52.3, 104.3),
        ("Alice Springs", -23.7, 133.9),
        ("Chukotka, beyond the antimeridian", 67.0, -176.5),
        ("Chukotka, before it", 67.0, 177.0),
    ] {
        assert!(is_land(&rings, latitude, longitude), "{name} is at sea");
    }
    for (name, latitude, longitude) in [
        ("Atlantic", 0.0, -30.0),
        ("North Atlantic", 50.0, -35.0),
        ("Pacific", 0.0, -150.0),
        ("Pacific by Fiji", -16.7, -150.0),
        ("Indian Ocean", -20.0, 80.0),
        ("Mediterranean", 34.5, 18.5),
        ("Caspian Sea", 42.0, 50.5),
        ("Beaufort Sea", 73.0, -140.0),
        ("Barents Sea", 73.5, 40.0),
    ] {
        assert!(!is_land(&rings, latitude, longitude), "{name} is dry");
    }
}

#[test]
fn the_map_s_corners_are_those_of_the_projection() {
    let near = |(x, y): (f64, f64), (u, v): (f64, f64)| (x - u).abs() < 0.6 && (y - v).abs() < 0.6;
    assert!(near(project(84.0, 0.0), (WIDTH / 2.0, 0.0)));
    assert!(near(project(-57.0, 0.0), (WIDTH / 2.0, HEIGHT)));
    let (left, equator) = project(0.0, -180.0);
    assert!(left.abs() < 1e-6 && near(project(0.0, 180.0), (WIDTH, equator)));
    // The projection keeps areas: so much of the sphere is between two parallels.
    let area = |south: f64, north: f64| {
        let steps = 10_000;
        let step = (north - south) / f64::from(steps);
        let at = |n: i32| south + step * f64::from(n);
        let strip = |n: i32| {
            let width = 2.0 * (project(at(n) + step / 2.0, 180.0).0 - WIDTH / 2.0);
            width * (project(at(n), 0.0).1 - project(at(n + 1), 0.0).1)
        };
        (0..steps).map(strip).sum::<f64>()
    };
    let (tropics, north) = (area(0.0, 30.0), area(30.0, 80.0));
    let sine = |degrees: f64| degrees.to_radians().sin();
    let expected = sine(30.0) / (sine(80.0) - sine(30.0));
    assert!((tropics / north / expected - 1.0).abs() < 1e-3, "{}", tropics / north / expected);
}
