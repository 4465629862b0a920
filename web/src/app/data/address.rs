//! Addresses within the app: what stands after `#`.
//!
//! | address | what it shows |
//! |---|---|
//! | `#library`, `#settings` | a screen that belongs to no session |
//! | `#chat`, `#context`, `#log`, `#replay` | a screen of the open session |
//! | `#s/ID` | a session |
//! | `#s/ID/context`, `…/log`, `…/replay` | a screen of a session |
//! | `#s/ID/12` | the message with this number |
//! | `#s/ID/layer/3` | the text of the layer with this number |

use std::fmt;

use crate::library::data::hit::Place;

/// The screens.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Screen {
    /// The open session.
    #[default]
    Chat,
    /// Its context.
    Context,
    /// All sessions.
    Library,
    /// Settings.
    Settings,
    /// The log of the open session.
    Log,
    /// The open session under several policies.
    Replay,
}

impl Screen {
    /// Its name in an address.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Chat => "chat",
            Self::Context => "context",
            Self::Library => "library",
            Self::Settings => "settings",
            Self::Log => "log",
            Self::Replay => "replay",
        }
    }

    /// Returns `true` if the screen shows a session.
    pub const fn is_of_a_session(self) -> bool {
        !matches!(self, Self::Library | Self::Settings)
    }

    /// The screen of this name; the conversation if there is none.
    fn named(name: &str) -> Self {
        match name {
            "context" => Self::Context,
            "library" => Self::Library,
            "settings" => Self::Settings,
            "log" => Self::Log,
            "replay" => Self::Replay,
            _ => Self::Chat,
        }
    }
}

/// An address within the app.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Address {
    /// The session; `None` means the one that is open.
    pub session: Option<String>,
    /// The screen.
    pub screen: Screen,
    /// The place in the conversation.
    pub place: Option<Place>,
}

impl Address {
    /// The address of a screen, and of the session that it shows.
    pub fn of(screen: Screen, session: Option<&str>) -> Self {
        let shown = session.filter(|id| screen.is_of_a_session() && can_be_written(id));
        Self {
            session: shown.map(str::to_owned),
            screen,
            place: None,
        }
    }

    /// The address of a place in a session.
    pub fn at(session: &str, place: Place) -> Self {
        Self {
            place: Some(place),
            ..Self::of(Screen::Chat, Some(session))
        }
    }

    /// Reads what stands after `#`. Anything unknown is the conversation.
    pub fn read(hash: &str) -> Self {
        let mut parts = hash.trim_start_matches('#').split('/');
        let first = parts.next().unwrap_or_default();
        if first != "s" {
            return Self::of(Screen::named(first), None);
        }
        let session = parts.next();
        let rest = (parts.next().unwrap_or_default(), parts.next());
        let place = match rest {
            ("layer", Some(number)) => number.parse().ok().map(Place::Layer),
            (number, _) => number.parse().ok().map(Place::Message),
        };
        let screen = Screen::named(rest.0);
        if screen.is_of_a_session() {
            let address = Self::of(screen, session);
            Self {
                place: place.filter(|_| address.session.is_some()),
                ..address
            }
        } else {
            Self::of(Screen::Chat, session)
        }
    }
}

/// Identifiers are hexadecimal digits; those that came from elsewhere may be anything, and then have no address.
fn can_be_written(id: &str) -> bool {
    let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
    !id.is_empty() && id.chars().all(plain)
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Some(session) = &self.session else {
            return f.write_str(self.screen.name());
        };
        write!(f, "s/{session}")?;
        match (self.place, self.screen) {
            (Some(Place::Message(number)), _) => write!(f, "/{number}"),
            (Some(Place::Layer(number)), _) => write!(f, "/layer/{number}"),
            (None, Screen::Chat) => Ok(()),
            (None, screen) => write!(f, "/{}", screen.name()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(hash: &str, session: Option<&str>, screen: Screen, place: Option<Place>) {
        let expected = Address {
            session: session.map(str::to_owned),
            screen,
            place,
        };
        let read = Address::read(hash);
        assert_eq!(read, expected, "{hash}");
        assert_eq!(Address::read(&format!("#{read}")), read, "{hash}");
    }

    #[test]
    fn addresses_are_read_and_written() {
        check("", None, Screen::Chat, None);
        check("#chat", None, Screen::Chat, None);
        check("#context", None, Screen::Context, None);
        check("#library", None, Screen::Library, None);
        check("#s/a1b2", Some("a1b2"), Screen::Chat, None);
        check("#s/a1b2/log", Some("a1b2"), Screen::Log, None);
        check("#s/a1b2/replay", Some("a1b2"), Screen::Replay, None);
        let at = |place| Some(place);
        check("#s/a1/12", Some("a1"), Screen::Chat, at(Place::Message(12)));
        check(
            "#s/a1/layer/3",
            Some("a1"),
            Screen::Chat,
            at(Place::Layer(3)),
        );
    }

    #[test]
    fn odd_addresses_are_the_conversation() {
        check("#nowhere", None, Screen::Chat, None);
        check("#s", None, Screen::Chat, None);
        check("#s/", None, Screen::Chat, None);
        check("#s/a b", None, Screen::Chat, None);
        check("#s/a b/12", None, Screen::Chat, None);
        check("#s/a1/", Some("a1"), Screen::Chat, None);
        check("#s/a1/-4", Some("a1"), Screen::Chat, None);
        check("#s/a1/99999999999", Some("a1"), Screen::Chat, None);
        check("#s/a1/layer", Some("a1"), Screen::Chat, None);
        check("#s/a1/layer/x", Some("a1"), Screen::Chat, None);
        check("#s/a1/settings", Some("a1"), Screen::Chat, None);
    }

    #[test]
    fn some_sessions_have_no_address() {
        assert_eq!(
            Address::of(Screen::Chat, Some("my chat")).to_string(),
            "chat"
        );
        assert_eq!(Address::of(Screen::Log, Some("a/b")).to_string(), "log");
        assert_eq!(
            Address::of(Screen::Settings, Some("a1")).to_string(),
            "settings"
        );
        let message = Address::at("a1", Place::Message(7));
        assert_eq!(message.to_string(), "s/a1/7");
    }
}
