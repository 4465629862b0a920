//! Classifies a run without spaces by its shape: a path, an address, a name that must be copied exactly.

use super::FactClass;

#[rustfmt::skip]
const DOMAINS: [&str; 22] = [
    "ai", "app", "cloud", "cn", "co", "com", "de", "dev", "edu", "es", "eu", "fr", "gov", "io",
    "it", "jp", "net", "nl", "org", "ru", "uk", "wiki",
];

/// A mail address (identifier) or a bare web address.
pub(super) fn address(run: &str) -> Option<FactClass> {
    if let Some((name, host)) = run.split_once('@')
        && !name.is_empty()
        && host.contains('.')
        && !host.contains('@')
        && host
            .bytes()
            .all(|b| b.is_ascii_alphanumeric() || matches!(b, b'.' | b'-'))
    {
        return Some(FactClass::Identifier);
    }
    let (host, slash) = run.split_once('/').map_or((run, false), |(h, _)| (h, true));
    let (_, top) = host.rsplit_once('.')?;
    let top = top.split(':').next().unwrap_or(top);
    if !host
        .bytes()
        .all(|b| b.is_ascii_alphanumeric() || matches!(b, b'.' | b'-' | b':'))
        || !host.bytes().any(|b| b.is_ascii_alphabetic())
    {
        return None;
    }
    if host.starts_with("www.")
        || DOMAINS.binary_search(&top).is_ok()
            && (slash || host.split('.').next().is_some_and(|l| l.len() >= 3))
    {
        return Some(FactClass::Url);
    }
    None
}

#[rustfmt::skip]
const EXTENSIONS: [&str; 104] = [
    "7z", "avi", "bak", "bash", "bat", "bin", "bmp", "c", "cc", "cfg", "cjs", "class", "conf",
    "cpp", "cs", "css", "csv", "cts", "dart", "db", "diff", "dll", "doc", "docx", "env", "ex",
    "exe", "exs", "gguf", "gif", "go", "gradle", "gz", "h", "hpp", "hs", "htm", "html", "ico",
    "ini", "ipynb", "iso", "jar", "java", "jpeg", "jpg", "js", "json", "jsonl", "jsx", "key", "kt",
    "less", "lock", "log", "lua", "m4a", "map", "md", "mdx", "mjs", "mov", "mp3", "mp4", "mts",
    "odt", "parquet", "patch", "pdf", "pem", "php", "pl", "png", "ppt", "pptx", "proto", "ps1",
    "py", "rb", "rs", "scala", "scss", "sh", "sql", "sqlite", "svg", "swift", "tar", "toml", "ts",
    "tsv", "tsx", "txt", "vue", "wasm", "wav", "webp", "xls", "xlsx", "xml", "yaml", "yml", "zig",
    "zip",
];

#[rustfmt::skip]
const FOLDERS: [&str; 44] = [
    "api", "app", "apps", "assets", "bin", "build", "cmd", "components", "config", "configs",
    "crates", "data", "dist", "docs", "etc", "examples", "home", "hooks", "include", "internal",
    "lib", "libs", "migrations", "modules", "node_modules", "opt", "packages", "pages", "pkg",
    "public", "routes", "scripts", "server", "spec", "src", "static", "styles", "target",
    "templates", "test", "tests", "tools", "usr", "var",
];

/// Returns the length of the path without `:line:column`, or `None` if `run` is not a path.
pub(crate) fn path(run: &str) -> Option<usize> {
    let body = without_position(run);
    if body.len() < 3 || body.contains("//") && !body.starts_with("//") {
        return None;
    }
    let slash = body.contains(['/', '\\']);
    if !body.chars().all(|c| {
        c.is_alphanumeric()
            || matches!(
                c,
                '.' | '_' | '-' | '~' | '/' | '\\' | '@' | '+' | '%' | '#' | '$' | '&' | ':' | '\''
            )
    }) {
        return None;
    }
    if !slash {
        if matches!(
            body,
            "Makefile" | "Dockerfile" | "Justfile" | "LICENSE" | "README"
        ) {
            return Some(body.len());
        }
        if let Some(dot) = body.strip_prefix('.') {
            let known = [
                "bashrc",
                "dockerignore",
                "editorconfig",
                "env",
                "eslintrc",
                "gitignore",
                "npmrc",
                "prettierrc",
                "zshrc",
            ];
            return (known.contains(&dot) || dot.starts_with("env.")).then_some(body.len());
        }
        let (stem, extension) = body.rsplit_once('.')?;
        let known = !stem.is_empty()
            && stem.chars().any(char::is_alphanumeric)
            && EXTENSIONS
                .binary_search(&extension.to_ascii_lowercase().as_str())
                .is_ok();
        // "e.g", "3.c" and the like are not files.
        return (known && (extension.len() > 1 || stem.len() > 2) && !stem.contains(':'))
            .then_some(body.len());
    }
    let rooted = body.starts_with(['/', '\\'])
        || body.starts_with("./")
        || body.starts_with("../")
        || body.starts_with("~/")
        || drive(body);
    let mut segments = 0usize;
    let mut telling = false;
    let mut known = false;
    let mut last = "";
    for segment in body.split(['/', '\\']).filter(|s| !s.is_empty()) {
        segments += 1;
        known |= FOLDERS.binary_search(&segment).is_ok();
        telling |= segment.len() > 1 && segment.contains(['.', '_', '-'])
            || segment.bytes().any(|b| b.is_ascii_digit())
                && segment.bytes().any(|b| b.is_ascii_alphabetic());
        last = segment;
    }
    if !body.chars().any(char::is_alphabetic) || segments == 0 {
        return None;
    }
    let extension = last.rsplit_once('.').is_some_and(|(s, e)| {
        !s.is_empty()
            && (1..=8).contains(&e.len())
            && e.bytes().all(|b| b.is_ascii_alphanumeric())
            && e.bytes().any(|b| b.is_ascii_alphabetic())
    });
    let is = if rooted {
        segments >= 2 || last.chars().filter(|c| c.is_alphabetic()).count() >= 2
    } else if segments == 1 {
        body.ends_with('/') && (known || telling)
    } else {
        extension
            || known
            || segments >= 3 && telling
            || body.ends_with('/')
            || segments == 2 && telling && body.contains(['_', '.'])
    };
    is.then_some(body.len())
}

/// Returns `true` if the text begins with a drive of Windows: `C:\` or `C:/`.
pub(crate) fn drive(body: &str) -> bool {
    let b = body.as_bytes();
    b.len() > 3 && b[0].is_ascii_alphabetic() && b[1] == b':' && matches!(b[2], b'\\' | b'/')
}

/// Removes `:12` or `:12:7` from the end.
pub(crate) fn without_position(run: &str) -> &str {
    let mut body = run;
    for _ in 0..2 {
        match body.rsplit_once(':') {
            Some((head, tail))
                if !tail.is_empty()
                    && tail.len() <= 6
                    && tail.bytes().all(|b| b.is_ascii_digit())
                    && head.len() > 1 =>
            {
                body = head;
            }
            _ => break,
        }
    }
    body
}

/// Returns `true` if a capital stands after a small letter: `camelCase`.
pub(super) fn camel(run: &str) -> bool {
    if run.len() < 4 {
        return false;
    }
    let mut before = '\0';
    for c in run.chars() {
        if before.is_lowercase() && c.is_uppercase() {
            return true;
        }
        before = c;
    }
    false
}

/// Returns `true` if the run is a name that must be copied exactly. With `strong`, only names count that can hardly be
/// words.
pub(super) fn identifier(run: &str, strong: bool) -> bool {
    let run = run.trim_end_matches("()");
    let (mut letters, mut digits, mut hex, mut other) = (0usize, 0usize, true, 0usize);
    let mut non_ascii = false;
    for c in run.chars() {
        if c.is_ascii_alphabetic() {
            letters += 1;
            hex &= c.is_ascii_hexdigit();
        } else if c.is_ascii_digit() {
            digits += 1;
        } else if c.is_ascii() {
            other += usize::from(!matches!(
                c,
                '-' | '_' | '.' | ':' | '#' | '@' | '/' | '+' | '$' | '&' | '%'
            ));
            hex &= c == '-';
        } else {
            non_ascii = true;
        }
    }
    if non_ascii || other > 0 || letters + digits < 2 {
        return false;
    }
    let mixed = letters > 0 && digits > 0;
    if mixed && letters + digits >= 7 || hex && mixed && run.len() >= 6 {
        return true;
    }
    // ABC-123
    if mixed
        && run.split_once('-').is_some_and(|(a, b)| {
            a.len() >= 2
                && a.bytes().all(|c| c.is_ascii_uppercase())
                && b.bytes().any(|c| c.is_ascii_digit())
        })
    {
        return true;
    }
    if strong {
        return false;
    }
    if mixed && (letters + digits >= 4 || run.contains(['.', '_'])) {
        return true;
    }
    if let Some(rest) = run.strip_prefix('#') {
        return rest.bytes().all(|b| b.is_ascii_digit()) && rest.len() >= 2;
    }
    if let Some(rest) = run.strip_prefix('@') {
        return rest.len() >= 3;
    }
    if run.starts_with("--") && letters >= 2 || run.contains("::") {
        return true;
    }
    let inner = run.trim_matches('_');
    if inner.contains('_') && letters >= 3 {
        return true;
    }
    camel(run)
        || run.bytes().filter(|&b| b == b'.').count() >= 2
            && run.split('.').all(|p| p.len() >= 2)
            && letters > 4
}
