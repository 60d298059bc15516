//! The `OpenAPI` document is whole, and says what is answered.

use plimsoll_shoal::answer::openapi::DOCUMENT;
use plimsoll_shoal::answer::paths::{Route, V1, route};
use plimsoll_shoal::answer::status_text;
use serde_json::{Map, Value};

use crate::support::python::python;
use crate::support::schema::{faults, resolved};

pub(crate) fn document() -> Value {
    serde_json::from_str(DOCUMENT).unwrap()
}

fn members(value: &Value) -> impl Iterator<Item = (&String, &Value)> {
    value.as_object().into_iter().flat_map(Map::iter)
}

/// Each path with each of its methods.
fn operations(document: &Value) -> impl Iterator<Item = (&str, &str, &Value)> {
    members(&document["paths"]).flat_map(|(path, methods)| {
        members(methods).map(|(method, operation)| (path.as_str(), method.as_str(), operation))
    })
}

#[test]
fn every_documented_path_is_a_route_and_every_route_is_documented() {
    let document = document();
    let example = |operation: &Value, name: &str| {
        let parameters = operation["parameters"].as_array().unwrap().iter();
        let mut named = parameters.filter(|one| one["in"] == "path" && one["name"] == name);
        let example = &named.next().unwrap_or_else(|| panic!("no parameter {name}"))["example"];
        example.as_str().map_or_else(|| example.to_string(), str::to_owned)
    };
    let mut routes = Vec::new();
    for (path, method, operation) in operations(&document) {
        let mut asked = String::new();
        for part in path.split_inclusive(['{', '}']) {
            match part.strip_suffix('}') {
                Some(name) => asked.push_str(&example(operation, name)),
                None => asked.push_str(part.trim_end_matches('{')),
            }
        }
        let found = route(&method.to_uppercase(), &asked);
        let name = name(found);
        assert!(name != "none", "{method} {asked}: {found:?}");
        routes.push(name);
    }
    routes.sort_unstable();
    routes.dedup();
    let mut expected = [
        "all",
        "cache",
        "caches",
        "geo-API",
        "goodbye",
        "health",
        "heartbeat",
        "metrics",
        "nearest",
        "openapi",
        "page",
        "proxy.pac",
        "ready",
        "state",
        "v1 nearest",
        "wpad",
    ];
    expected.sort_unstable();
    assert_eq!(routes, expected);
}

/// A word for each route; a new one does not compile without its word, which then must be
/// documented.
fn name(route: Route<'_>) -> &'static str {
    match route {
        Route::Nearest { .. } => "nearest",
        Route::All => "all",
        Route::Wpad => "wpad",
        Route::ProxyPac => "proxy.pac",
        Route::Page { .. } => "page",
        Route::GeoApi(_) => "geo-API",
        Route::Metrics => "metrics",
        Route::V1(V1::Nearest) => "v1 nearest",
        Route::V1(V1::Caches) => "caches",
        Route::V1(V1::Cache(_)) => "cache",
        Route::V1(V1::State(_)) => "state",
        Route::V1(V1::Heartbeat) => "heartbeat",
        Route::V1(V1::Goodbye) => "goodbye",
        Route::V1(V1::Health) => "health",
        Route::V1(V1::Ready) => "ready",
        Route::V1(V1::OpenApi) => "openapi",
        // What the page loads is no operation.
        Route::Asset(_)
        | Route::NotFound
        | Route::MethodNotAllowed
        | Route::V1(V1::NotFound | V1::MethodNotAllowed(_)) => "none",
    }
}

#[test]
fn every_answer_has_a_status_a_schema_and_an_example_that_fits_it() {
    let document = document();
    let mut examples = 0;
    for (path, method, operation) in operations(&document) {
        for (status, response) in members(&operation["responses"]) {
            let line = format!("{method} {path} {status}");
            let response = resolved(&document, response);
            assert_ne!(status_text(status.parse().unwrap()), "Unknown", "{line}");
            assert!(response["description"].is_string(), "{line}");
            let bodiless = ["204", "304"].contains(&status.as_str());
            assert!(bodiless || response["content"].is_object(), "{line}");
            for (_, content) in members(&response["content"]) {
                let found = faults(&document, &content["schema"], &content["example"]);
                assert!(found.is_empty(), "{line}: {found:?}");
                examples += 1;
            }
            let problem = &response["content"]["application/problem+json"]["example"];
            let number: u64 = status.parse().unwrap();
            assert!(problem.is_null() || problem["status"] == number, "{line}");
            for (_, header) in members(&response["headers"]) {
                let found = faults(&document, &header["schema"], &header["example"]);
                assert!(found.is_empty(), "{line}: {found:?}");
            }
            let wanted = match status.as_str() {
                "429" | "503" => "Retry-After",
                "405" => "Allow",
                "304" => "ETag",
                _ => continue,
            };
            assert!(response["headers"][wanted].is_object(), "{line}: no {wanted}");
        }
        for parameter in operation["parameters"].as_array().into_iter().flatten() {
            let parameter = resolved(&document, parameter);
            let found = faults(&document, &parameter["schema"], &parameter["example"]);
            assert!(found.is_empty(), "{method} {path}: {found:?}");
        }
        for (_, content) in members(&operation["requestBody"]["content"]) {
            let found = faults(&document, &content["schema"], &content["example"]);
            assert!(found.is_empty(), "{method} {path}: {found:?}");
        }
    }
    assert!(examples > 60, "only {examples} examples");
}

#[test]
fn every_operation_has_a_name_of_its_own() {
    let document = document();
    let mut names: Vec<&str> =
        operations(&document).map(|(.., one)| one["operationId"].as_str().unwrap()).collect();
    let count = names.len();
    names.sort_unstable();
    names.dedup();
    assert_eq!(names.len(), count);
}

#[test]
fn the_document_is_valid_openapi() {
    const SCRIPT: &str = "import json, sys\n\
        document = json.load(sys.stdin)\n\
        try:\n    import openapi_spec_validator\n\
        except ModuleNotFoundError as error:\n\
        \x20   if error.name != 'openapi_spec_validator':\n        raise\n\
        \x20   print('absent')\n\
        else:\n    openapi_spec_validator.validate(document)\n    print('valid')";
    let name = "the_document_is_valid_openapi";
    match python(name, SCRIPT, DOCUMENT.as_bytes()).as_deref().map(str::trim) {
        Some("absent") => plimsoll_testing::skip(name, "openapi_spec_validator"),
        Some(said) => assert_eq!(said, "valid"),
        None => {}
    }
}

#[test]
fn every_part_is_referred_to() {
    let document = document();
    for part in ["schemas", "responses", "parameters"] {
        for (name, _) in members(&document["components"][part]) {
            let reference = format!("\"$ref\": \"#/components/{part}/{name}\"");
            assert!(DOCUMENT.contains(&reference), "nothing refers to {name}");
        }
    }
}

#[test]
fn the_statuses_of_the_contract_are_documented() {
    let document = document();
    let mut statuses: Vec<&String> = operations(&document)
        .flat_map(|(_, _, operation)| members(&operation["responses"]).map(|(status, _)| status))
        .collect();
    statuses.sort();
    statuses.dedup();
    let expected =
        ["200", "204", "304", "400", "401", "403", "404", "405", "413", "429", "500", "503"];
    assert_eq!(statuses, expected);
    let names: Vec<&Value> = document["paths"]["/v1/nearest"]["get"]["parameters"]
        .as_array()
        .unwrap()
        .iter()
        .map(|parameter| &parameter["name"])
        .collect();
    assert_eq!(names, ["n", "ip", "cloud", "type"]);
}
