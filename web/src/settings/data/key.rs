//! Keys of model servers. A key belongs to one server and to one origin, and is sent nowhere else.

use crate::settings::Server;

/// A key with the origin that it was given for.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct Key {
    text: String,
    origin: String,
}

impl Key {
    /// The key that a person gave for the server at `address`. For an address that names no origin there is none.
    pub fn given(text: &str, address: &str) -> Self {
        match origin_of(address) {
            Some(origin) if !text.is_empty() => Self {
                text: text.to_owned(),
                origin,
            },
            _ => Self::default(),
        }
    }

    /// Creates a key with its origin, as it is stored.
    pub fn kept(text: &str, origin: &str) -> Self {
        Self {
            text: text.to_owned(),
            origin: origin.to_owned(),
        }
    }

    /// Its text, if it belongs to the origin of that address; else nothing.
    pub fn at(&self, address: &str) -> &str {
        match origin_of(address) {
            Some(origin) if origin == self.origin => &self.text,
            _ => "",
        }
    }

    /// The key for a server of that kind at that address. Ollama knows no keys, so it gets none: no one would notice
    /// that a key was sent.
    pub fn sent_to(&self, server: Server, address: &str) -> &str {
        match server {
            Server::Ollama | Server::InPage => "",
            Server::LlamaCpp | Server::OpenAi => self.at(address),
        }
    }

    /// Returns `true` if there is a key.
    pub const fn is_some(&self) -> bool {
        !self.text.is_empty()
    }

    /// Its text and its origin, to be kept.
    pub fn into_parts(self) -> (String, String) {
        (self.text, self.origin)
    }
}

/// The origin of an address: scheme, host and port. Nothing for an address that could be read in more than one way.
pub fn origin_of(address: &str) -> Option<String> {
    let (scheme, rest) = address.split_once("://")?;
    let usual_port = match scheme {
        "http" => ":80",
        "https" => ":443",
        _ => return None,
    };
    let authority = rest.split(['/', '?', '#', '\\']).next()?;
    // The text before an @ is a name and a password.
    let host = authority.rsplit('@').next()?;
    let host = host.strip_suffix(usual_port).unwrap_or(host);
    let clear = |c: char| c.is_alphanumeric() || ".-_:[]".contains(c);
    (!host.is_empty() && host.chars().all(clear))
        .then(|| format!("{scheme}://{}", host.to_lowercase()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn origins_are_those_of_the_address() {
        let is = |address, origin: Option<&str>| {
            assert_eq!(origin_of(address).as_deref(), origin, "{address}");
        };
        is("http://localhost:8081", Some("http://localhost:8081"));
        is("https://GPU.lan:443/v1?x#y", Some("https://gpu.lan"));
        is("http://gpu.lan:443", Some("http://gpu.lan:443"));
        is("http://[::1]:8080/", Some("http://[::1]:8080"));
        is(
            "https://gpu.lan@evil.example/",
            Some("https://evil.example"),
        );
        is(
            "https://evil.example\\@gpu.lan",
            Some("https://evil.example"),
        );
        is("https://gpu.lan\t.evil.example", None);
        is("https:///gpu.lan", None);
        is("ftp://gpu.lan", None);
        is("gpu.lan", None);
        is("", None);
    }

    #[test]
    fn a_key_is_sent_to_its_own_origin_only() {
        let key = Key::given("secret", "https://gpu.lan/a");
        for (server, address, sent) in [
            (Server::OpenAi, "https://gpu.lan/b", "secret"),
            (Server::LlamaCpp, "https://gpu.lan", "secret"),
            (Server::Ollama, "https://gpu.lan", ""),
            (Server::OpenAi, "http://gpu.lan", ""),
            (Server::OpenAi, "https://gpu.lan:8443", ""),
            (Server::OpenAi, "https://gpu.lan.evil.example", ""),
            (Server::OpenAi, "https://gpu.lan@evil.example", ""),
            (Server::OpenAi, "", ""),
        ] {
            assert_eq!(key.sent_to(server, address), sent, "{server:?} {address}");
        }
        for address in ["", "nowhere", "https:///x"] {
            let key = Key::given("secret", address);
            assert!(!key.is_some() && key.sent_to(Server::OpenAi, address).is_empty());
        }
    }
}
