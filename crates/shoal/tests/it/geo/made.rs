//! Databases made for tests: one record for every address, in MaxMind's DB format 2.0.

/// A value of a record.
#[derive(Debug, Clone)]
pub(super) enum Item {
    Text(&'static str),
    Number(u32),
    Short(u16),
    Long(u64),
    Single(f32),
    Double(f64),
    List(Vec<Item>),
    Map(Vec<(&'static str, Item)>),
}

pub(super) fn text(text: &'static str) -> Item {
    Item::Text(text)
}

pub(super) fn map<const N: usize>(entries: [(&'static str, Item); N]) -> Item {
    Item::Map(Vec::from(entries))
}

/// A file of IPv4 networks whose tree is one node, both sides of which have the record.
pub(super) fn file(record: &Item) -> Vec<u8> {
    // 24 bits a side: the count of nodes, 16 for the separator, and 0 for the offset.
    let mut bytes = vec![0, 0, 17, 0, 0, 17];
    bytes.extend([0; 16]);
    write(record, &mut bytes);
    bytes.extend(b"\xab\xcd\xefMaxMind.com");
    let facts = map([
        ("binary_format_major_version", Item::Short(2)),
        ("binary_format_minor_version", Item::Short(0)),
        ("build_epoch", Item::Long(1_790_000_000)),
        ("database_type", text("made")),
        ("description", Item::Map(vec![])),
        ("ip_version", Item::Short(4)),
        ("languages", Item::List(vec![])),
        ("node_count", Item::Number(1)),
        ("record_size", Item::Short(24)),
    ]);
    write(&facts, &mut bytes);
    bytes
}

fn write(item: &Item, out: &mut Vec<u8>) {
    match item {
        Item::Text(text) => {
            // Up to 28 bytes fit a control byte.
            assert!(text.len() < 29);
            out.push(2 << 5 | text.len() as u8);
            out.extend(text.bytes());
        }
        Item::Double(x) => {
            out.push(3 << 5 | 8);
            out.extend(x.to_be_bytes());
        }
        Item::Number(n) => {
            out.push(6 << 5 | 4);
            out.extend(n.to_be_bytes());
        }
        Item::Short(n) => {
            out.push(5 << 5 | 2);
            out.extend(n.to_be_bytes());
        }
        Item::Long(n) => {
            out.extend([8, 9 - 7]);
            out.extend(n.to_be_bytes());
        }
        Item::Map(entries) => {
            out.push(7 << 5 | entries.len() as u8);
            for (key, value) in entries {
                write(&Item::Text(key), out);
                write(value, out);
            }
        }
        // Types above 7 follow in a byte of their own, less 7.
        Item::List(items) => {
            out.extend([items.len() as u8, 11 - 7]);
            items.iter().for_each(|item| write(item, out));
        }
        Item::Single(x) => {
            out.extend([4, 15 - 7]);
            out.extend(x.to_be_bytes());
        }
    }
}
