//! Values that are one of a few words.

/// A value that a plan or a flag gives by a word.
pub trait Words: Copy + PartialEq + 'static {
    /// Every word with its value, in the order in which they are listed for a person.
    const WORDS: &'static [(&'static str, Self)];

    /// The word for this value.
    #[must_use]
    fn word(self) -> &'static str {
        let found = Self::WORDS.iter().find(|(_, of)| *of == self);
        found.map_or("", |(word, _)| word)
    }

    /// The value of a word.
    #[must_use]
    fn of_word(text: &str) -> Option<Self> {
        Self::WORDS.iter().find(|(word, _)| *word == text).map(|(_, of)| *of)
    }
}
