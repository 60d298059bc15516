//! The URLs of stores, as the registry of protocols has their schemes.

use plimsoll_units::ParseError;
use plimsoll_workload::request::{Scheme, Url};

fn read(text: &str) -> Result<Url, ParseError> {
    let schemes: Vec<&'static Scheme> = plimsoll_load::schemes().collect();
    Url::parse_among(text, &schemes)
}

fn url(text: &str) -> Url {
    read(text).unwrap()
}

#[test]
fn stores_have_databases_each_in_its_way() {
    for (text, scheme, port, database) in [
        ("redis://h", "redis", 6379, ""),
        ("redis://h/03", "redis", 6379, "3"),
        ("memcached://h:1/", "memcached", 1, ""),
        ("mysql://ann@h/shop", "mysql", 3306, "shop"),
        ("MariaDB://h:1/a%2Fb", "mysql", 1, "a/b"),
        ("postgres://h/shop", "postgres", 5432, "shop"),
        ("postgresql://h/%C3%A9", "postgres", 5432, "é"),
        ("cassandra://h/Shop_2", "cassandra", 9042, "Shop_2"),
        ("mysql+unix://%2Frun%2Fs/shop", "mysql", 3306, "shop"),
        ("postgresql+unix://%2Frun%2Fs/shop", "postgres", 5432, "shop"),
    ] {
        let found = url(text);
        assert_eq!((found.scheme.name, found.port), (scheme, port), "{text}");
        assert_eq!(found.database().as_deref(), Ok(database), "{text}");
        let of_sql = ["mysql", "postgres"].contains(&scheme);
        assert_eq!(found.scheme.store.as_ref().unwrap().needs_user, of_sql, "{text}");
        let again = Url { credentials: found.credentials.clone(), ..url(&found.to_string()) };
        assert_eq!(again, found, "{text}");
    }
    for wrong in [
        "redis://h/shop",
        "redis://h/1000000",
        "redis://h/+1",
        "memcached://h/0",
        "mysql://h",
        "mysql://h/",
        "mysql://h/a/b",
        "postgres://h/shop?sslmode=require",
        "postgres://h/a%00b",
        "postgres://h/%FF",
        "cassandra://h",
        "cassandra://h/a-b",
        "cassandra://h/%61",
        "cassandra://h/a?b",
        "cassandra://h/seven7777777777777777777777777777777777777777777777",
    ] {
        assert!(url(wrong).database().is_err(), "{wrong}");
    }
    for wrong in ["rediss://h", "https+unix://%2Fs/", "mysqls://h/d", "sqlite://h/d", "+unix://h"] {
        assert!(read(wrong).is_err(), "{wrong}");
    }
}
