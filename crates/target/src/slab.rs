//! Connections by number: a place is used again, its key is not.

/// Names one connection; goes through epoll as 64 bits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Key {
    place: u32,
    /// How often the place had been given away before.
    generation: u32,
}

impl Key {
    pub(crate) fn to_bits(self) -> u64 {
        u64::from(self.generation) << 32 | u64::from(self.place)
    }

    #[expect(clippy::cast_possible_truncation, reason = "the two halves of what to_bits made")]
    pub(crate) fn from_bits(bits: u64) -> Self {
        Self { place: bits as u32, generation: (bits >> 32) as u32 }
    }
}

/// Values in places that are used again.
#[derive(Debug)]
pub(crate) struct Slab<T> {
    places: Vec<(u32, Option<T>)>,
    free: Vec<u32>,
}

impl<T> Slab<T> {
    pub(crate) fn new() -> Self {
        Self { places: Vec::new(), free: Vec::new() }
    }

    pub(crate) fn len(&self) -> usize {
        self.places.len() - self.free.len()
    }

    pub(crate) fn insert(&mut self, value: T) -> Key {
        if let Some(place) = self.free.pop() {
            let entry = &mut self.places[place as usize];
            entry.1 = Some(value);
            return Key { place, generation: entry.0 };
        }
        let Ok(place) = u32::try_from(self.places.len()) else {
            unreachable!("fewer connections than 2^32")
        };
        self.places.push((0, Some(value)));
        Key { place, generation: 0 }
    }

    pub(crate) fn get_mut(&mut self, key: Key) -> Option<&mut T> {
        let (generation, value) = self.places.get_mut(key.place as usize)?;
        if *generation == key.generation { value.as_mut() } else { None }
    }

    pub(crate) fn remove(&mut self, key: Key) -> Option<T> {
        let (generation, value) = self.places.get_mut(key.place as usize)?;
        if *generation != key.generation {
            return None;
        }
        let value = value.take()?;
        // The topmost generations are not reached: the listener's and the workers' keys are there.
        *generation = (*generation + 1) % (u32::MAX >> 1);
        self.free.push(key.place);
        Some(value)
    }

    /// The keys of all that are there.
    pub(crate) fn keys(&self) -> Vec<Key> {
        let named = self.places.iter().zip(0..);
        named
            .filter(|((_, value), _)| value.is_some())
            .map(|(&(generation, _), place)| Key { place, generation })
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_dies_with_its_value() {
        let mut slab = Slab::new();
        let (a, b) = (slab.insert('a'), slab.insert('b'));
        assert_eq!(slab.remove(a), Some('a'));
        assert_eq!(slab.remove(a), None);
        let c = slab.insert('c');
        assert_eq!(slab.get_mut(a), None);
        assert_eq!(slab.get_mut(c), Some(&mut 'c'));
        assert_eq!(Key::from_bits(c.to_bits()), c);
        assert_eq!((slab.len(), slab.keys()), (2, vec![c, b]));
    }
}
