//! Brings models to an Ollama server and removes them.

use palimpsest_core::request::ModelError;
use serde_json::json;

use crate::error::ServerError;
use crate::http::HttpRequest;
use crate::json;
use crate::lines::LineSplitter;

/// The longest line of an answer that is read, in bytes. A real one has a few hundred.
const LONGEST_LINE: usize = 64 << 10;
/// The most files of one model that are told apart. A real model has five to ten.
const MOST_FILES: usize = 256;

/// Asks the server to download a model by its name, such as `llama3.2:3b`. [`PullDecoder`] reads the answer, which lasts as
/// long as the download. If the connection ends, so does the download; asked again, it goes on where it ended.
pub fn pull(model: &str) -> HttpRequest {
    HttpRequest::post("/api/pull", &json!({ "model": model, "stream": true }))
}

/// Asks the server to remove a model. The answer has no body.
pub fn delete(model: &str) -> HttpRequest {
    HttpRequest {
        method: "DELETE",
        ..HttpRequest::post("/api/delete", &json!({ "model": model }))
    }
}

/// The progress of a download.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Progress {
    /// Bytes on the server's disk.
    pub done: u64,
    /// Bytes of all files that the server has named so far; 0 before it names the first one.
    pub total: u64,
}

/// Reads the answer to [`pull`] in chunks of any size.
#[derive(Debug)]
pub struct PullDecoder {
    model: String,
    lines: LineSplitter,
    state: Pulled,
}

#[derive(Debug, Default)]
struct Pulled {
    files: Vec<File>,
    is_done: bool,
}

/// One file of a model.
#[derive(Debug)]
struct File {
    digest: String,
    progress: Progress,
}

impl PullDecoder {
    /// Creates a decoder for the download of `model`.
    pub fn new(model: &str) -> Self {
        Self {
            model: model.to_owned(),
            lines: LineSplitter::new(LONGEST_LINE),
            state: Pulled::default(),
        }
    }

    /// Reads one chunk and returns how far the download is after it.
    ///
    /// # Errors
    ///
    /// The server's own error, which comes in a line with status 200, and [`ModelError::BadResponse`] for an answer that is
    /// none of a model server.
    pub fn push(&mut self, chunk: &[u8]) -> Result<Progress, ModelError> {
        let Self {
            model,
            lines,
            state,
        } = self;
        lines.push(chunk, |line| state.read(line, model))?;
        Ok(state.progress())
    }

    /// Checks at the end of the answer that the server called the download finished.
    ///
    /// # Errors
    ///
    /// [`ModelError::Truncated`] if it did not.
    pub fn finish(mut self) -> Result<(), ModelError> {
        let Self {
            model,
            lines,
            state,
        } = &mut self;
        lines.finish(|line| state.read(line, model))?;
        if state.is_done {
            Ok(())
        } else {
            Err(ModelError::Truncated)
        }
    }
}

impl Pulled {
    fn read(&mut self, line: &[u8], model: &str) -> Result<bool, ModelError> {
        if line.trim_ascii().is_empty() {
            return Ok(true);
        }
        let value = json::object(line)?;
        if let Some(error) = ServerError::find(&value) {
            return Err(error.meaning(200, model));
        }
        self.is_done = value["status"] == "success";
        let total = value["total"].as_u64().unwrap_or(0);
        if let Some(digest) = value["digest"].as_str().filter(|_| total > 0) {
            let done = value["completed"].as_u64().unwrap_or(0).min(total);
            let progress = Progress { done, total };
            if let Some(file) = self.files.iter_mut().find(|f| f.digest == digest) {
                file.progress = progress;
            } else if self.files.len() < MOST_FILES {
                self.files.push(File {
                    digest: digest.to_owned(),
                    progress,
                });
            }
        }
        Ok(true)
    }

    fn progress(&self) -> Progress {
        let sum = |all: Progress, file: &File| Progress {
            done: all.done.saturating_add(file.progress.done),
            total: all.total.saturating_add(file.progress.total),
        };
        self.files.iter().fold(Progress::default(), sum)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ANSWER: &str = r#"{"status":"pulling manifest"}
{"status":"pulling 74701a8c35f6","digest":"sha256:74701a8c35f6","total":1000}
{"status":"pulling 74701a8c35f6","digest":"sha256:74701a8c35f6","total":1000,"completed":400}
{"status":"pulling 966de95ca8a6","digest":"sha256:966de95ca8a6","total":20,"completed":20}
{"status":"pulling 74701a8c35f6","digest":"sha256:74701a8c35f6","total":1000,"completed":1000}
{"status":"verifying sha256 digest"}
{"status":"writing manifest"}
{"status":"success"}
"#;

    /// Whatever the sizes of the chunks: what arrived is summed over the files, never goes back, and ends complete.
    #[test]
    fn progress_is_the_sum_over_files() {
        for size in [1, 7, 100, ANSWER.len()] {
            let mut decoder = PullDecoder::new("llama3.2:1b");
            let mut last = Progress::default();
            for chunk in ANSWER.as_bytes().chunks(size) {
                let now = decoder.push(chunk).unwrap();
                assert!(now.done >= last.done && now.total >= last.total, "{now:?}");
                last = now;
            }
            let complete = Progress {
                done: 1_020,
                total: 1_020,
            };
            assert_eq!(last, complete);
            decoder.finish().unwrap();
        }
    }

    /// An answer that ends early, an error with status 200, and a page that is no model server.
    #[test]
    fn failures() {
        let check = |body: &str, expected: ModelError| {
            let mut decoder = PullDecoder::new("nothing");
            let read = decoder.push(body.as_bytes()).and_then(|_| decoder.finish());
            assert_eq!(read.unwrap_err(), expected, "{body}");
        };
        check("{\"status\":\"pulling manifest\"}\n", ModelError::Truncated);
        check(
            "{\"status\":\"pulling manifest\"}\n{\"error\":\"pull model manifest: file does not exist\"}\n",
            ModelError::ServerFailed {
                message: "pull model manifest: file does not exist".into(),
            },
        );
        check(
            "<html>\n",
            ModelError::BadResponse {
                why: "it is an HTML page".into(),
            },
        );
        check(&format!("{{\"status\":\"{}", "x".repeat(70_000)), {
            ModelError::TooLong {
                what: "a line".into(),
                limit: 65_536,
            }
        });
    }

    /// Sizes that make no sense do no harm.
    #[test]
    fn strange_numbers() {
        let mut decoder = PullDecoder::new("m");
        let line = |total: &str, completed: &str| {
            format!("{{\"digest\":\"d\",\"total\":{total},\"completed\":{completed}}}\n")
        };
        let mut push = |total, completed| decoder.push(line(total, completed).as_bytes()).unwrap();
        assert_eq!(push("-5", "3").total, 0);
        assert_eq!(push("10", "1e300").done, 0);
        assert_eq!(push("10", "99").done, 10);
        assert_eq!(push("18446744073709551615", "1").total, u64::MAX);
    }

    #[test]
    fn requests() {
        assert_eq!(pull("m").body, br#"{"model":"m","stream":true}"#);
        let request = delete("a/b:c");
        assert_eq!(
            (request.method, request.path.as_str(), &request.body[..]),
            ("DELETE", "/api/delete", &br#"{"model":"a/b:c"}"#[..])
        );
    }
}
