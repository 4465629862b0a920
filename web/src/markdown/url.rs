//! Decides which addresses of a message may become links.

/// The address as it may stand in a link, or `None` when it may not be followed.
///
/// Allowed are absolute `http`, `https` and `mailto` addresses. The scheme is looked for after
/// control characters and white space are taken out, as browsers do, and again after percent
/// decoding, so that neither `java\nscript:` nor `javascript%3A` slips through. Relative addresses
/// are refused: in a message they would point into this app.
pub fn safe_link(address: &str) -> Option<String> {
    let plain: String = address
        .chars()
        .filter(|c| !c.is_control() && !c.is_whitespace())
        .collect();
    let scheme = scheme(&plain)?;
    let decoded = decode(&plain);
    if self::scheme(&decoded) != Some(scheme) {
        return None;
    }
    match scheme {
        Scheme::Web => host(&plain).map(|_| plain),
        Scheme::Mail => Some(plain),
    }
}

/// The host of a web address with its port, after any `user@`, in lower case.
pub fn host(address: &str) -> Option<String> {
    let rest = address.split_once("://")?.1;
    let authority = rest.split(['/', '?', '#', '\\']).next()?;
    let host = authority.rsplit('@').next()?;
    (!host.is_empty()).then(|| host.to_lowercase())
}

/// A picture inside the address itself, of a kind that holds no script (so: no SVG).
pub fn inline_image(address: &str) -> Option<String> {
    let allowed = [
        "data:image/png;base64,",
        "data:image/jpeg;base64,",
        "data:image/gif;base64,",
        "data:image/webp;base64,",
    ];
    let prefix = allowed.iter().find(|p| {
        address
            .get(..p.len())
            .is_some_and(|head| head.eq_ignore_ascii_case(p))
    })?;
    let data = &address[prefix.len()..];
    data.bytes()
        .all(|b| b.is_ascii_alphanumeric() || matches!(b, b'+' | b'/' | b'='))
        .then(|| address.to_owned())
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Scheme {
    Web,
    Mail,
}

fn scheme(address: &str) -> Option<Scheme> {
    let (name, rest) = address.split_once(':')?;
    match name.to_ascii_lowercase().as_str() {
        "http" | "https" if rest.starts_with("//") => Some(Scheme::Web),
        "mailto" => Some(Scheme::Mail),
        _ => None,
    }
}

fn decode(text: &str) -> String {
    let bytes = text.as_bytes();
    let mut out = Vec::with_capacity(bytes.len());
    let mut at = 0;
    while at < bytes.len() {
        let hex = |i: usize| bytes.get(i).and_then(|b| char::from(*b).to_digit(16));
        if let (b'%', Some(high), Some(low)) = (bytes[at], hex(at + 1), hex(at + 2)) {
            let byte = (high * 16 + low) as u8;
            if byte > 0x20 && byte != 0x7f {
                out.push(byte);
            }
            at += 3;
        } else {
            out.push(bytes[at]);
            at += 1;
        }
    }
    String::from_utf8_lossy(&out).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(address: &str, expected: Option<&str>) {
        assert_eq!(safe_link(address).as_deref(), expected, "{address:?}");
    }

    #[test]
    fn only_web_and_mail_addresses_become_links() {
        check(
            "https://example.org/a?b#c",
            Some("https://example.org/a?b#c"),
        );
        check("HTTP://Example.org", Some("HTTP://Example.org"));
        check("mailto:a@b.example", Some("mailto:a@b.example"));
        check("javascript:alert(1)", None);
        check("java\nscript:alert(1)", None);
        check("\u{1}javascript:alert(1)", None);
        check("javascript%3Aalert(1)", None);
        check("https%3A//evil.example", None);
        check("data:text/html,<b>x</b>", None);
        check("vbscript:x", None);
        check("blob:https://example.org/1", None);
        check("file:///etc/passwd", None);
        check("//example.org/x", None);
        check("/settings", None);
        check("#chat", None);
        check("https:", None);
        check("https://", None);
        check("https:example.org", None);
    }

    #[test]
    fn the_host_is_the_one_that_would_be_asked() {
        assert_eq!(
            host("https://bank.example@evil.example:8443/x").as_deref(),
            Some("evil.example:8443")
        );
        assert_eq!(
            host("https://a.example\\@b.example/").as_deref(),
            Some("a.example")
        );
        assert_eq!(host("https://A.Example").as_deref(), Some("a.example"));
        assert_eq!(host("mailto:a@b.example"), None);
    }

    #[test]
    fn pictures_inside_the_message_are_bitmaps() {
        assert!(inline_image("data:image/png;base64,iVBORw0KGgo=").is_some());
        assert!(inline_image("data:image/svg+xml;base64,PHN2Zz4=").is_none());
        assert!(inline_image("data:image/png;base64,<svg onload=x>").is_none());
        assert!(inline_image("data:text/html;base64,aGk=").is_none());
    }
}
