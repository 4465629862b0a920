//! The content policy of the app's page. It allows the app's own scripts, styles and wasm, and connections to this
//! machine, and forbids to turn text into markup.
//!
//! The build writes the policy into the page, so that it holds on any static host. `serve` reads it there and also
//! sends it as a header, with the one rule that a page cannot contain.

use anyhow::{Context, Result, ensure};

/// Browsers ignore this rule in a page, because they decide about framing before they read it. A static host that wants
/// the rule must send it as a header.
const IN_HEADER_ONLY: &str = "frame-ancestors 'self'";

/// The beginning of the policy in a page.
const META: &str = "<meta http-equiv=\"Content-Security-Policy\" content=\"";

/// The policy is written after this line of `web/index.html`, because a policy only holds for the text after it.
const FIRST_LINE: &str = "<meta charset=\"utf-8\">\n";

/// The origins that every page may connect to: its own, and servers on the same machine.
const CONNECT: &str = "connect-src 'self' http://localhost:* http://127.0.0.1:*";

/// Writes the policy into `page`. The page may also connect to the origins in `connect`.
pub(crate) fn write(page: &str, connect: &[String]) -> Result<String> {
    ensure!(
        !page.contains(META) && page.matches(FIRST_LINE).count() == 1,
        "index.html must begin its head with {} and have no policy of its own",
        FIRST_LINE.trim_end()
    );
    let policy = format!(
        "default-src 'none'; script-src 'self' 'wasm-unsafe-eval'; style-src 'self'; img-src 'self' data: blob:; \
         font-src 'self'; {CONNECT}; manifest-src 'self'; worker-src 'self'; base-uri 'none'; form-action 'none'; \
         require-trusted-types-for 'script'; trusted-types palimpsest-worker palimpsest-model palimpsest-pdf shell"
    );
    let policy = widen(&policy, connect)?;
    Ok(page.replace(FIRST_LINE, &format!("{FIRST_LINE}{META}{policy}\">\n")))
}

/// Returns the policy of a page.
pub(crate) fn read(page: &str) -> Result<&str> {
    page.split_once(META)
        .and_then(|(_, rest)| rest.split_once('"'))
        .map(|(policy, _)| policy)
        .context("index.html in dist/app has no policy: run `cargo xtask build` again")
}

/// Adds origins to which the page may connect.
pub(crate) fn widen(policy: &str, connect: &[String]) -> Result<String> {
    check(connect)?;
    ensure!(
        policy.contains(CONNECT),
        "the policy does not say what the page may connect to: {policy}"
    );
    let mut origins = String::from(CONNECT);
    for origin in connect {
        origins.push(' ');
        origins.push_str(origin.trim_end_matches('/'));
    }
    Ok(policy.replace(CONNECT, &origins))
}

/// Fails unless all of these are origins, without characters that could add to a policy.
pub(crate) fn check(connect: &[String]) -> Result<()> {
    for origin in connect {
        let rest = origin
            .strip_prefix("http://")
            .or_else(|| origin.strip_prefix("https://"));
        let host = rest.map(|rest| rest.trim_end_matches('/'));
        let clean = host.filter(|host| {
            !host.is_empty()
                && host
                    .chars()
                    .all(|char| char.is_ascii_alphanumeric() || ".-:[]*".contains(char))
        });
        ensure!(
            clean.is_some(),
            "--connect wants an origin such as http://192.168.1.20:11434, not {origin:?}"
        );
    }
    Ok(())
}

/// The policy of the worker with the model. llama.cpp's own worker begins from a blob there, and the page's rules about texts
/// that become scripts do not hold. It connects to nothing but its own server.
pub(crate) const MODEL_WORKER: &str = "default-src 'none'; script-src 'self' blob: 'wasm-unsafe-eval'; \
    connect-src 'self' blob:; worker-src 'self' blob:";

/// The policy as a header: the policy of the page, and the rule that cannot stand there.
pub(crate) fn header(policy: &str) -> String {
    format!("{policy}; {IN_HEADER_ONLY}")
}

#[cfg(test)]
mod tests {
    use super::*;

    const PAGE: &str =
        "<!doctype html>\n<head>\n<meta charset=\"utf-8\">\n<script src=\"a.js\"></script>\n";

    /// The policy stands before everything that it covers, and the header has the same rules and one more.
    #[test]
    fn the_policy_is_in_the_page() {
        let page = write(PAGE, &[]).unwrap();
        assert!(page.find(META).unwrap() < page.find("<script").unwrap());
        let policy = read(&page).unwrap();
        for rule in [
            "default-src 'none'",
            "script-src 'self' 'wasm-unsafe-eval'",
            "connect-src 'self' http://localhost:* http://127.0.0.1:*;",
            "require-trusted-types-for 'script'",
            "trusted-types palimpsest-worker palimpsest-model palimpsest-pdf shell",
        ] {
            assert!(policy.contains(rule), "{rule} in {policy}");
        }
        assert!(!policy.contains("frame-ancestors"), "a page cannot say it");
        assert_eq!(header(policy), format!("{policy}; frame-ancestors 'self'"));
        assert!(write(&page, &[]).is_err(), "there is one policy in a page");
        assert!(write("<html>", &[]).is_err());
        assert!(read(PAGE).is_err());
    }

    #[test]
    fn connect_widens_the_policy_by_origins_only() {
        let page = write(PAGE, &["http://192.168.1.20:11434/".into()]).unwrap();
        let policy = read(&page).unwrap();
        assert!(policy.contains(
            "connect-src 'self' http://localhost:* http://127.0.0.1:* http://192.168.1.20:11434;"
        ));
        let wider = widen(policy, &["https://gpu.lan".into()]).unwrap();
        assert!(wider.contains("https://gpu.lan http://192.168.1.20:11434;"));
        for wrong in [
            "192.168.1.20",
            "http://a b",
            "http://a; script-src *",
            "http://a\" onload=\"x",
            "ftp://a",
            "http://",
        ] {
            assert!(write(PAGE, &[wrong.into()]).is_err(), "{wrong}");
        }
    }
}
