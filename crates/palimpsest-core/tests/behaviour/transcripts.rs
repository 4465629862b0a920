//! Where the tests take their transcripts from: small ones of our own, and recorded ones beside the repository.

use std::path::PathBuf;

/// Who wrote what is read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Source {
    /// `tests/fixtures`, in our own words: always there.
    Own,
    /// `../shared/data`, recorded: tests that want it are ignored unless they are asked for.
    Recorded,
}

/// What is read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Transcript {
    Coding,
    Service,
    Friends,
}

impl Source {
    /// The text of a transcript.
    pub(crate) fn read(self, transcript: Transcript) -> String {
        self.file(match (self, transcript) {
            (_, Transcript::Coding) => "coding-session.jsonl",
            (Self::Own, Transcript::Service) => "service.json",
            (Self::Own, Transcript::Friends) => "friends.json",
            (Self::Recorded, Transcript::Service) => "tau-airline-dev.json",
            (Self::Recorded, Transcript::Friends) => "locomo-dev.json",
        })
    }

    /// The text of a file in the source's folder.
    pub(crate) fn file(self, name: &str) -> String {
        let folder = match self {
            Self::Own => "../../tests/fixtures",
            Self::Recorded => "../../../shared/data",
        };
        let path = PathBuf::from(env!("CARGO_MANIFEST_DIR"))
            .join(folder)
            .join(name);
        std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
    }
}
