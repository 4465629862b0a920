//! The parts of an address that the doctor needs.

/// The scheme of an address.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Scheme {
    Http,
    Https,
}

/// Scheme and host of an origin or a server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Address {
    pub(super) scheme: Scheme,
    host: String,
}

impl Address {
    /// Returns `None` for text that is not an http or https address.
    pub(super) fn parse(text: &str) -> Option<Self> {
        let (scheme, rest) = text.trim().split_once("://")?;
        let scheme = match scheme.to_ascii_lowercase().as_str() {
            "http" => Scheme::Http,
            "https" => Scheme::Https,
            _ => return None,
        };
        let authority = rest.split(['/', '?', '#']).next().unwrap_or_default();
        let authority = authority.rsplit('@').next().unwrap_or_default();
        let (host, port) = if let Some(inner) = authority.strip_prefix('[') {
            let (host, after) = inner.split_once(']')?;
            (host, after.strip_prefix(':'))
        } else {
            match authority.split_once(':') {
                Some((host, port)) => (host, Some(port)),
                None => (authority, None),
            }
        };
        let good_port = port.is_none_or(|p| p.parse::<u16>().is_ok());
        let good_host = !host.is_empty()
            && host
                .chars()
                .all(|c| c.is_ascii_alphanumeric() || ".-_:".contains(c));
        (good_port && good_host).then(|| Self {
            scheme,
            host: host.to_ascii_lowercase(),
        })
    }

    /// Returns `true` for this machine.
    pub(super) fn is_loopback(&self) -> bool {
        let host = self.host.as_str();
        host == "localhost"
            || host.rsplit('.').next() == Some("localhost")
            || host == "::1"
            || (host.starts_with("127.") && self.octets().is_some())
    }

    /// Returns `true` for this machine and its network. A public page needs the user's permission to reach them.
    pub(super) fn is_local(&self) -> bool {
        if self.is_loopback() || self.host.rsplit('.').next() == Some("local") {
            return true;
        }
        match self.octets() {
            Some([10, ..] | [192, 168, ..] | [169, 254, ..] | [0, 0, 0, 0]) => true,
            Some([172, second, ..]) => (16..32).contains(&second),
            // IPv6 addresses for a single link or site.
            _ => {
                self.host.contains(':')
                    && ["fe80:", "fc", "fd"]
                        .iter()
                        .any(|p| self.host.starts_with(p))
            }
        }
    }

    fn octets(&self) -> Option<[u8; 4]> {
        let mut parts = self.host.split('.').map(str::parse::<u8>);
        let octets = [
            parts.next()?.ok()?,
            parts.next()?.ok()?,
            parts.next()?.ok()?,
            parts.next()?.ok()?,
        ];
        parts.next().is_none().then_some(octets)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses() {
        let check = |text: &str, expected: Option<(Scheme, bool, bool)>| {
            let found = Address::parse(text).map(|a| (a.scheme, a.is_loopback(), a.is_local()));
            assert_eq!(found, expected, "{text}");
        };
        let (http, https) = (Scheme::Http, Scheme::Https);
        check("http://localhost:11434", Some((http, true, true)));
        check("HTTP://127.0.0.1:11434/", Some((http, true, true)));
        check("http://[::1]:8080", Some((http, true, true)));
        check("http://192.168.1.5:11434", Some((http, false, true)));
        check("http://172.20.0.1", Some((http, false, true)));
        check("http://172.40.0.1", Some((http, false, false)));
        check("http://nas.local", Some((http, false, true)));
        check("https://chat.example/a?b", Some((https, false, false)));
        check("https://127.example.com", Some((https, false, false)));
        check("http://user:pw@10.0.0.1:1", Some((http, false, true)));
        for bad in [
            "",
            "localhost:11434",
            "null",
            "file:///x",
            "http://",
            "http://:80",
            "http://a:99999",
            "http://a b",
            "ftp://a",
        ] {
            check(bad, None);
        }
    }
}
