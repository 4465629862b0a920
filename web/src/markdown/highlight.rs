//! Colours code: keywords, strings, comments and numbers of the most common languages.
//!
//! It reads tokens, not grammars: one pass over the text, with a table for each family of languages. Unknown code stays
//! plain. The pieces together always equal the text.

/// The kind of a piece of code.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// Nothing that is known.
    Plain,
    /// A word of the language, or the name of a tag.
    Keyword,
    /// A string.
    Text,
    /// A comment.
    Comment,
    /// A number.
    Number,
    /// A called name: a word with a parenthesis after it.
    Call,
}

impl Kind {
    /// The class of its element; empty for plain text.
    pub const fn class(self) -> &'static str {
        match self {
            Self::Plain => "",
            Self::Keyword => "tk",
            Self::Text => "ts",
            Self::Comment => "tc",
            Self::Number => "td",
            Self::Call => "tf",
        }
    }
}

/// Longer code stays plain, in bytes.
const LONGEST: usize = 60_000;

/// The syntax of a family of languages, as far as it is coloured.
struct Family {
    /// The marks that begin a comment up to the end of the line.
    line: &'static [&'static str],
    /// The marks that begin and end a comment.
    block: &'static [(&'static str, &'static str)],
    /// The marks that begin and end a string, the longest first.
    quotes: &'static [(&'static str, &'static str)],
    /// Its words, each with a space before and after.
    words: &'static str,
    /// A comment begins only after white space: a shell's `#`.
    spaced: bool,
    /// Letters that belong to words beside the usual ones.
    letters: &'static str,
}

const C: &[(&str, &str)] = &[("/*", "*/")];
const BOTH: &[(&str, &str)] = &[("\"", "\""), ("'", "'")];

const RUST: Family = Family {
    line: &["//"],
    block: C,
    quotes: &[("r##\"", "\"##"), ("r#\"", "\"#"), ("\"", "\"")],
    words: " as async await break const continue crate dyn else enum extern false fn for if impl in let loop match mod move mut pub ref return self Self static struct super trait true type unsafe use where while bool char str u8 u16 u32 u64 u128 usize i8 i16 i32 i64 i128 isize f32 f64 ",
    spaced: false,
    letters: "",
};
const SCRIPT: Family = Family {
    line: &["//"],
    block: C,
    quotes: &[("`", "`"), ("\"", "\""), ("'", "'")],
    words: " abstract any as async await boolean break case catch class const continue debugger declare default delete do else enum export extends false finally for from function get if implements import in infer instanceof interface keyof let namespace never new null number of private protected public readonly return satisfies set static string super switch this throw true try type typeof undefined unknown var void while with yield ",
    spaced: false,
    letters: "$",
};
const PYTHON: Family = Family {
    line: &["#"],
    block: &[],
    quotes: &[
        ("\"\"\"", "\"\"\""),
        ("'''", "'''"),
        ("\"", "\""),
        ("'", "'"),
    ],
    words: " False None True and as assert async await break case class continue def del elif else except finally for from global if import in is lambda match nonlocal not or pass raise return self try while with yield ",
    spaced: false,
    letters: "",
};
const JSON: Family = Family {
    line: &["//"],
    block: C,
    quotes: &[("\"", "\"")],
    words: " true false null ",
    spaced: false,
    letters: "",
};
const SHELL: Family = Family {
    line: &["#"],
    block: &[],
    quotes: BOTH,
    words: " alias break case cd continue do done echo elif else esac eval exec exit export fi for function if in local printf read return set shift source sudo then trap unset until while ",
    spaced: true,
    letters: "-",
};
const SETTINGS: Family = Family {
    line: &["#"],
    block: &[],
    quotes: BOTH,
    words: " true false null yes no on off ",
    spaced: true,
    letters: "-",
};
const CURLY: Family = Family {
    line: &["//"],
    block: C,
    quotes: &[("\"", "\""), ("'", "'"), ("`", "`")],
    words: " abstract as auto bool boolean break byte case catch chan char class const constexpr continue default defer delete do double else enum explicit extends extern false final finally float fn for foreach fun func function go goto if implements import in inline int interface internal is let long map namespace new nil null nullptr object operator out override package private protected public range readonly ref return sealed short signed sizeof static string struct super switch template this throw throws trait true try type typedef typename union unsigned using val var virtual void volatile when where while yield #include #define #if #ifdef #ifndef #endif #else #pragma ",
    spaced: false,
    letters: "#",
};
const CSS: Family = Family {
    line: &[],
    block: C,
    quotes: BOTH,
    words: " @charset @container @font-face @import @keyframes @layer @media @namespace @page @property @supports !important ",
    spaced: false,
    letters: "-@!",
};
const SQL: Family = Family {
    line: &["--"],
    block: C,
    quotes: BOTH,
    words: " select from where and or not null insert into values update set delete create table index view drop alter add primary key foreign references join left right inner outer on as group by order having limit offset union all distinct case when then else end in is like between exists begin commit rollback with asc desc default unique constraint if ",
    spaced: false,
    letters: "",
};

/// The family of a language by the word after its fence.
fn family(language: &str) -> Option<&'static Family> {
    Some(match language {
        "rust" | "rs" => &RUST,
        "js" | "javascript" | "mjs" | "cjs" | "jsx" | "ts" | "typescript" | "tsx" => &SCRIPT,
        "python" | "py" | "python3" => &PYTHON,
        "json" | "json5" | "jsonc" | "jsonl" => &JSON,
        "sh" | "bash" | "shell" | "zsh" | "console" | "fish" | "dockerfile" | "make"
        | "makefile" => &SHELL,
        "toml" | "yaml" | "yml" | "ini" | "env" | "conf" => &SETTINGS,
        "c" | "h" | "cpp" | "c++" | "cc" | "hpp" | "java" | "go" | "golang" | "cs" | "csharp"
        | "c#" | "kotlin" | "kt" | "swift" | "php" | "dart" | "scala" | "zig" => &CURLY,
        "css" | "scss" | "less" => &CSS,
        "sql" | "sqlite" | "postgresql" | "mysql" => &SQL,
        _ => return None,
    })
}

/// `text` in pieces; `None` where nothing is known about the language, or the text is too long.
pub fn pieces<'a>(language: &str, text: &'a str) -> Option<Vec<(Kind, &'a str)>> {
    if text.len() > LONGEST {
        return None;
    }
    let language = language.to_ascii_lowercase();
    let mut pieces = Pieces {
        text,
        from: 0,
        list: Vec::new(),
    };
    match language.as_str() {
        "html" | "xml" | "svg" | "vue" | "xhtml" => tags(&mut pieces),
        other => words(&mut pieces, family(other)?, other),
    }
    pieces.plain_to(text.len());
    Some(pieces.list)
}

/// The pieces so far; everything before `from` is in one.
struct Pieces<'a> {
    text: &'a str,
    from: usize,
    list: Vec<(Kind, &'a str)>,
}

impl Pieces<'_> {
    fn plain_to(&mut self, end: usize) {
        self.add(Kind::Plain, self.from, end);
    }

    /// Adds a piece from `start`; the text before it is plain.
    fn take(&mut self, kind: Kind, start: usize, end: usize) {
        self.plain_to(start);
        self.add(kind, start, end);
    }

    fn add(&mut self, kind: Kind, start: usize, end: usize) {
        if start < end {
            self.list.push((kind, &self.text[start..end]));
            self.from = end;
        }
    }
}

/// Reads a language of words, strings and comments.
fn words(pieces: &mut Pieces<'_>, family: &Family, language: &str) {
    let text = pieces.text;
    let mut at = 0;
    while let Some(next) = text[at..].chars().next() {
        let rest = &text[at..];
        let fresh = !family.spaced || text[..at].ends_with([' ', '\t', '\n']) || at == 0;
        if fresh && family.line.iter().any(|mark| rest.starts_with(mark)) {
            let end = at + rest.find('\n').unwrap_or(rest.len());
            pieces.take(Kind::Comment, at, end);
            at = end;
        } else if let Some((open, close)) = family.block.iter().find(|b| rest.starts_with(b.0)) {
            let inner = &rest[open.len()..];
            let end = inner
                .find(close)
                .map_or(text.len(), |i| at + open.len() + i + close.len());
            pieces.take(Kind::Comment, at, end);
            at = end;
        } else if let Some((open, close)) = family.quotes.iter().find(|q| rest.starts_with(q.0)) {
            let end = at + string(rest, open, close);
            pieces.take(Kind::Text, at, end);
            at = end;
        } else if language.starts_with('r') && next == '\'' {
            // a letter in quotes, or a lifetime
            let end = at + letter(rest);
            if end > at + 1 {
                pieces.take(Kind::Text, at, end);
            }
            at = end;
        } else if next.is_ascii_digit() {
            let length = rest.find(|c: char| !(c.is_ascii_alphanumeric() || "._%".contains(c)));
            let length = length.unwrap_or(rest.len());
            // `0..n`: the dots are no part of the number
            let end = at + rest[..length].find("..").unwrap_or(length);
            pieces.take(Kind::Number, at, end);
            at = end;
        } else if is_letter(next, family) {
            let length = rest.find(|c| !is_letter(c, family) && !c.is_ascii_digit());
            let end = at + length.unwrap_or(rest.len());
            let word = &text[at..end];
            let known = |word: &str| family.words.contains(&format!(" {word} "));
            if known(word) || (language == "sql" && known(&word.to_ascii_lowercase())) {
                pieces.take(Kind::Keyword, at, end);
            } else if text[end..].starts_with('(') {
                pieces.take(Kind::Call, at, end);
            }
            at = end;
        } else {
            at += next.len_utf8();
        }
    }
}

fn is_letter(c: char, family: &Family) -> bool {
    c.is_alphabetic() || c == '_' || family.letters.contains(c)
}

/// The length of a string that begins here: to its end, or to the end of the line for one that cannot go on.
fn string(rest: &str, open: &str, close: &str) -> usize {
    let escapes = !open.starts_with('r');
    let long = open.len() > 1 || open == "`";
    let mut at = open.len();
    while let Some(next) = rest[at..].chars().next() {
        if rest[at..].starts_with(close) {
            return at + close.len();
        }
        if next == '\n' && !long && open != "\"" {
            return at;
        }
        at += next.len_utf8();
        if next == '\\' && escapes {
            at += rest[at..].chars().next().map_or(0, char::len_utf8);
        }
    }
    rest.len()
}

/// The length of a letter in single quotes; 1 if it is none.
fn letter(rest: &str) -> usize {
    let mut chars = rest.char_indices().skip(1);
    let first = chars.next().map(|(_, c)| c);
    let end = match first {
        Some('\\') => rest[2..].find('\'').map(|i| i + 3).filter(|end| *end < 14),
        Some(c) => rest[1 + c.len_utf8()..]
            .starts_with('\'')
            .then(|| 2 + c.len_utf8()),
        None => None,
    };
    end.unwrap_or(1)
}

/// Reads HTML: comments, the names of tags, and the strings inside them.
fn tags(pieces: &mut Pieces<'_>) {
    let text = pieces.text;
    let mut at = 0;
    while let Some(open) = text[at..].find('<').map(|i| at + i) {
        let rest = &text[open..];
        if rest.starts_with("<!--") {
            at = rest.find("-->").map_or(text.len(), |i| open + i + 3);
            pieces.take(Kind::Comment, open, at);
            continue;
        }
        let name = open + 1 + usize::from(rest[1..].starts_with(['/', '!']));
        let tail = &text[name..];
        let end = name
            + tail
                .find(|c: char| !(c.is_alphanumeric() || "-:".contains(c)))
                .unwrap_or(tail.len());
        pieces.take(Kind::Keyword, name, end);
        at = end.max(open + 1);
        // to the end of the tag, with its strings
        while let Some(next) = text[at..].chars().next() {
            if next == '>' || next == '<' {
                break;
            }
            if next == '"' || next == '\'' {
                let inner = &text[at + 1..];
                let end = inner.find(next).map_or(text.len(), |i| at + i + 2);
                pieces.take(Kind::Text, at, end);
                at = end;
            } else {
                at += next.len_utf8();
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The coloured pieces, each as its class and its text.
    fn check(language: &str, text: &str, expected: &[&str]) {
        let pieces = pieces(language, text).unwrap();
        let whole: String = pieces.iter().map(|p| p.1).collect();
        assert_eq!(whole, text);
        let coloured: Vec<String> = pieces
            .iter()
            .filter(|p| p.0 != Kind::Plain)
            .map(|p| format!("{}:{}", &p.0.class()[1..], p.1))
            .collect();
        assert_eq!(coloured, expected, "{language}");
    }

    #[test]
    fn languages() {
        check(
            "rust",
            "fn f<'a>(x: &'a str) -> u8 { let s = r#\"a\"b\"#; '\\n' // done\n 0..9 }",
            &[
                "k:fn",
                "k:str",
                "k:u8",
                "k:let",
                "s:r#\"a\"b\"#",
                "s:'\\n'",
                "c:// done",
                "d:0",
                "d:9",
            ],
        );
        check(
            "TypeScript",
            "const n: number = 1.5e3; /* a\nb */ `x ${n}` + 'it\\'s'",
            &[
                "k:const",
                "k:number",
                "d:1.5e3",
                "c:/* a\nb */",
                "s:`x ${n}`",
                "s:'it\\'s'",
            ],
        );
        check(
            "py",
            "def f():\n  \"\"\"doc\n  more\"\"\"\n  return None # why",
            &[
                "k:def",
                "f:f",
                "s:\"\"\"doc\n  more\"\"\"",
                "k:return",
                "k:None",
                "c:# why",
            ],
        );
        check("json", "{\"a\": [1, true]}", &["s:\"a\"", "d:1", "k:true"]);
        check(
            "bash",
            "for x in a#b; do echo \"$x\" # say it\ndone",
            &[
                "k:for",
                "k:in",
                "k:do",
                "k:echo",
                "s:\"$x\"",
                "c:# say it",
                "k:done",
            ],
        );
        check(
            "cpp",
            "#include <x>\nint main() { return 0x1F; }",
            &["k:#include", "k:int", "f:main", "k:return", "d:0x1F"],
        );
        check(
            "html",
            "<!-- c --><a href=\"#x\">if</a><br>",
            &["c:<!-- c -->", "k:a", "s:\"#x\"", "k:a", "k:br"],
        );
        check(
            "css",
            "@media print { a-b { width: 10px; content: 'x' } }",
            &["k:@media", "d:10px", "s:'x'"],
        );
        check(
            "sql",
            "SELECT a FROM t -- all",
            &["k:SELECT", "k:FROM", "c:-- all"],
        );
        assert_eq!(pieces("brainfuck", "+"), None);
        assert_eq!(pieces("rust", &"x".repeat(LONGEST + 1)), None);
    }

    /// I10: no text in a block causes a panic, and none is lost.
    #[test]
    fn any_text() {
        let letters = [
            "'", "\"", "\\", "`", "/*", "*/", "//", "#", "<", "<!", "<!--", "-->", "é", "字", "\n",
            " ", "r#\"", "1", ".", "a", "--",
        ];
        let mut seed = 7u32;
        for _ in 0..3_000 {
            let mut text = String::new();
            for _ in 0..12 {
                seed = seed.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
                text.push_str(letters[(seed >> 16) as usize % letters.len()]);
            }
            for language in [
                "rust", "js", "py", "json", "sh", "toml", "c", "css", "sql", "html",
            ] {
                let pieces = pieces(language, &text).unwrap();
                let whole: String = pieces.iter().map(|p| p.1).collect();
                assert_eq!(whole, text, "{language}");
            }
        }
    }
}
