//! System prompts that a person keeps, with gaps that are filled when one is used: `{{name}}`.

/// The gaps that the page fills by itself.
pub const KNOWN: [&str; 3] = ["date", "model", "language"];

/// The longest name of a gap, in bytes. Anything longer between braces is text.
const LONGEST: usize = 60;

/// A piece of a prompt.
enum Piece<'a> {
    /// Text as it is.
    Text(&'a str),
    /// The name of a gap.
    Gap(&'a str),
}

/// Calls `each` with the pieces of a prompt, in their order.
fn pieces<'a>(text: &'a str, mut each: impl FnMut(Piece<'a>)) {
    let mut rest = text;
    while let Some(open) = rest.find("{{") {
        let inside = &rest[open + 2..];
        let name = inside.find("}}").map(|end| inside[..end].trim());
        let is_part = |c: char| c.is_alphanumeric() || matches!(c, ' ' | '_' | '-');
        let name = name.filter(|n| !n.is_empty() && n.len() <= LONGEST && n.chars().all(is_part));
        let Some(name) = name else {
            each(Piece::Text(&rest[..open + 2]));
            rest = inside;
            continue;
        };
        each(Piece::Text(&rest[..open]));
        each(Piece::Gap(name));
        rest = inside.split_once("}}").map_or("", |(_, rest)| rest);
    }
    each(Piece::Text(rest));
}

/// The names of the gaps that a person fills, each once, in their order.
pub fn gaps(text: &str) -> Vec<String> {
    let mut names: Vec<String> = Vec::new();
    pieces(text, |piece| {
        if let Piece::Gap(name) = piece
            && !KNOWN.contains(&name)
            && !names.iter().any(|known| known == name)
        {
            names.push(name.to_owned());
        }
    });
    names
}

/// The prompt with its gaps filled. One for which there is nothing stays as it is.
pub fn filled(text: &str, of: impl Fn(&str) -> Option<String>) -> String {
    let mut out = String::new();
    pieces(text, |piece| match piece {
        Piece::Text(text) => out.push_str(text),
        Piece::Gap(name) => {
            let value = of(name).filter(|value| !value.is_empty());
            out.push_str(&value.unwrap_or_else(|| format!("{{{{{name}}}}}")));
        }
    });
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gaps_are_found_and_filled() {
        let check = |text: &str, names: &[&str], expected: &str| {
            assert_eq!(gaps(text), names, "{text}");
            let of = |name: &str| (name != "empty").then(|| format!("<{name}>"));
            assert_eq!(filled(text, of), expected, "{text}");
        };
        check("Plain.", &[], "Plain.");
        check("Today is {{date}}.", &[], "Today is <date>.");
        check(
            "I am {{ name }}, {{role}}; {{name}} again.",
            &["name", "role"],
            "I am <name>, <role>; <name> again.",
        );
        check("{{empty}}", &["empty"], "{{empty}}");
        check("{{", &[], "{{");
        check("{{}} {{ }}", &[], "{{}} {{ }}");
        check("{{{x}}}", &[], "{{{x}}}");
        check("{{a\nb}} {{c}}", &["c"], "{{a\nb}} <c>");
        check(
            "function() {{ return 1; }}",
            &[],
            "function() {{ return 1; }}",
        );
    }
}
