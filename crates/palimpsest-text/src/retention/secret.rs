//! Recognises text that looks like a secret: keys, tokens, passwords. Secrets stay where they were said and are copied
//! nowhere automatically.

use std::cell::LazyCell;

use crate::languages::{List, each};

/// The beginnings of keys of known services.
#[rustfmt::skip]
const PREFIXES: [&str; 24] = [
    "sk-", "sk_live_", "sk_test_", "pk_live_", "rk_live_", "ghp_", "gho_", "ghu_", "ghs_", "github_pat_", "glpat-", "xoxb-",
    "xoxp-", "xoxa-", "xapp-", "AKIA", "ASIA", "AIza", "ya29.", "hf_", "npm_", "pypi-", "eyJ", "SG.",];

/// Words before a password.
static NAMES: List = List::phrases(each!(secrets));

/// Returns `true` if `text` contains something that looks like a secret.
pub(super) fn holds_secret(text: &str) -> bool {
    if text.contains("PRIVATE KEY-----") {
        return true;
    }
    // Few texts contain a possible password, and the others need no search for its name.
    let named = LazyCell::new(|| {
        let lower = text.to_lowercase();
        NAMES.all().iter().filter_map(|name| lower.find(name)).min()
    });
    let mut at = 0;
    for word in text.split(|c: char| {
        c.is_whitespace()
            || !c.is_ascii()
            || matches!(c, '"' | '\'' | '`' | ',' | ';' | '<' | '>' | '(' | ')')
    }) {
        let start = at;
        at += word.len()
            + text[(at + word.len()).min(text.len())..]
                .chars()
                .next()
                .map_or(0, char::len_utf8);
        let token = word.trim_matches(|c: char| matches!(c, '.' | ':' | '!' | '?' | '*'));
        // `KEY=value`, `https://host?token=value`
        let pieces = token.split(['=', '&', '?']);
        if pieces.clone().any(|p| known(p) || random(p)) {
            return true;
        }
        // Lower-casing can move places by a few bytes, but never before the word itself.
        if pieces.clone().any(password) && named.is_some_and(|name| start + 4 > name) {
            return true;
        }
    }
    false
}

fn known(token: &str) -> bool {
    PREFIXES.iter().any(|prefix| {
        token.strip_prefix(prefix).is_some_and(|rest| {
            rest.len() >= 8
                && rest
                    .bytes()
                    .any(|b| b.is_ascii_digit() || b.is_ascii_uppercase())
        })
    })
}

/// Returns `true` for letters of both cases with digits among them, because nobody writes such a word.
fn random(token: &str) -> bool {
    token
        .split(|c: char| !(c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '+')))
        .any(|run| {
            let bytes = run.as_bytes();
            let border = |w: &[u8]| w[0].is_ascii_digit() != w[1].is_ascii_digit();
            bytes.len() >= 24
                && bytes.iter().any(u8::is_ascii_uppercase)
                && bytes.iter().any(u8::is_ascii_lowercase)
                && bytes.windows(2).filter(|w| border(w)).count() >= 5
        })
}

/// Returns `true` for a possible password directly after its name: letters with a digit or a sign among them.
fn password(token: &str) -> bool {
    let letters = token.chars().any(|c| c.is_ascii_alphabetic());
    let digits = token.chars().any(|c| c.is_ascii_digit());
    let signs = token
        .chars()
        .any(|c| matches!(c, '!' | '@' | '#' | '$' | '%' | '^' | '&' | '*' | '+'));
    (6..=128).contains(&token.len())
        && (letters && (digits || signs) || digits && token.len() >= 6)
        && !token.contains(['/', '\\'])
        && !is_mail(token)
}

/// `ada@example.com`.
fn is_mail(token: &str) -> bool {
    token
        .split_once('@')
        .is_some_and(|(name, host)| !name.is_empty() && host.contains('.'))
}

#[cfg(test)]
mod tests {
    use super::holds_secret;

    /// S3: keys, tokens and passwords are recognised by their look; talk about them, hashes and paths are not secrets.
    #[test]
    fn secrets_are_known_by_their_look() {
        for text in [
            "My API key must always be used: sk-proj-9aF3kQ0zT7bL2mXw",
            "export GITHUB_TOKEN=ghp_16C7e42F292c6912E7710c838347Ae178B4a",
            "The password is hunter2.",
            "Mein Passwort lautet Sommer!2024",
            "密码是abc12345。",
            "パスワードは neko4567 です。",
            "Пароль: qwerty99",
            "La contraseña es perro123",
            "Le mot de passe est chien456",
            "-----BEGIN RSA PRIVATE KEY-----\nMIIEow",
            "use aB3dE5fG7hI9jK1lM3nO5pQ7 for it",
            "Bearer eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.abc",
        ] {
            assert!(holds_secret(text), "{text}");
        }
        for text in [
            "Never log passwords.",
            "Always send lost passwords to ada@example.com.",
            "Always ask for a token before you call the API.",
            "The commit 8f3c2a1b9d0e7f6a5b4c3d2e1f0a9b8c7d6e5f4a is fine.",
            "See src/components/Login2Form.tsx and 550e8400-e29b-41d4-a716-446655440000.",
            "The budget is $1,200 and the sk- prefix means secret.",
            "Passwörter niemals loggen.",
        ] {
            assert!(!holds_secret(text), "{text}");
        }
    }
}
