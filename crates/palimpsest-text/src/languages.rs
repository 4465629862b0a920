//! The data of each language: small words, cues, rules of grammar, words of time, names of months.
//!
//! Each language has a file in this folder with one constant, [`Tables`]. The code that reads the tables stands in the
//! modules above and is the same for all languages. To add a language, write its file and name it in the list below.

pub(crate) mod cue;
pub(crate) mod rules;
pub(crate) mod tables;

use std::sync::OnceLock;

use serde::{Deserialize, Serialize};

use tables::Script;
pub(crate) use tables::Tables;

macro_rules! languages {
    ($($name:ident $code:ident)*) => {
        $(mod $code;)*

        /// A language that can be told from others.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
        #[serde(rename_all = "lowercase")]
        #[allow(missing_docs)] // the names are the documentation
        pub enum Language {
            $($name,)*
        }

        impl Language {
            /// Every language, in the order of the enum.
            pub(crate) const ALL: [Self; COUNT] = [$(Self::$name,)*];

            /// The ISO 639-1 code.
            pub const fn code(self) -> &'static str {
                match self {
                    $(Self::$name => stringify!($code),)*
                }
            }

            /// The language's tables.
            pub(crate) const fn tables(self) -> &'static Tables {
                match self {
                    $(Self::$name => &$code::TABLES,)*
                }
            }
        }

        /// The number of languages.
        pub(crate) const COUNT: usize = [$(stringify!($code),)*].len();
    };
}

// Each language with the file of its tables.
languages! {
    English en
    Chinese zh
    German de
    Spanish es
    French fr
    Japanese ja
    Russian ru
    Portuguese pt
    Italian it
    Dutch nl
    Polish pl
    Swedish sv
    Danish da
    Czech cs
    Romanian ro
    Turkish tr
    Indonesian id
    Vietnamese vi
    Ukrainian uk
    Korean ko
    Arabic ar
    Persian fa
    Hebrew he
    Hindi hi
    Thai th
    Greek el
}

impl Language {
    /// The languages whose demands are read, in the order of the attempts.
    pub(crate) fn read() -> impl Iterator<Item = Self> {
        Self::ALL
            .into_iter()
            .filter(|l| l.tables().grammar.is_some())
    }

    /// The languages among them in Latin script, which the script does not tell apart.
    pub(crate) fn latin() -> impl Iterator<Item = Self> {
        Self::read().filter(|l| l.tables().script == Script::Latin)
    }

    /// The tables of the language of a text. A text of an unknown language is read as English.
    pub(crate) fn or_english(language: Option<Self>) -> &'static Tables {
        language.unwrap_or(Self::English).tables()
    }
}

/// The texts of one field of the tables, in the order of the languages. They are put together when the program is compiled:
/// who reads them needs no other field, so that the rest of the tables can be in a part of a module that is loaded later.
macro_rules! each {
    ($($field:ident).+) => {
        $crate::languages::each!(|tables| tables.$($field).+)
    };
    (|$tables:ident| $text:expr) => {{
        const TEXTS: [&str; $crate::languages::COUNT] = {
            let mut all = [""; $crate::languages::COUNT];
            let mut at = 0;
            while at < all.len() {
                let $tables = $crate::languages::Language::ALL[at].tables();
                all[at] = $text;
                at += 1;
            }
            all
        };
        &TEXTS
    }};
}
pub(crate) use each;

/// The texts of one field of the tables: see [`each`].
pub(crate) type Texts = &'static [&'static str; COUNT];

/// A list of all languages together, assembled on first use.
pub(crate) struct List {
    texts: Texts,
    between: char,
    all: OnceLock<Vec<&'static str>>,
}

impl List {
    /// A list of words, with a space between two of them.
    pub(crate) const fn words(texts: Texts) -> Self {
        Self::new(texts, ' ')
    }

    /// A list of phrases, with a `|` between two of them.
    pub(crate) const fn phrases(texts: Texts) -> Self {
        Self::new(texts, '|')
    }

    const fn new(texts: Texts, between: char) -> Self {
        Self {
            texts,
            between,
            all: OnceLock::new(),
        }
    }

    /// The entries of all languages, in the order of the languages.
    pub(crate) fn all(&self) -> &[&'static str] {
        self.all.get_or_init(|| {
            let lists = self.texts.iter();
            let entries = lists.flat_map(|list| list.split(self.between));
            entries.filter(|entry| !entry.is_empty()).collect()
        })
    }

    /// Returns `true` if the list contains exactly this word.
    pub(crate) fn has(&self, word: &str) -> bool {
        // Most entries differ in the first byte already.
        let first = word.as_bytes().first();
        let mut all = self.all().iter();
        all.any(|entry| entry.as_bytes().first() == first && *entry == word)
    }
}
