//! Requests for the models of a server: the installed ones, the loaded ones, the details of one. Also reads the
//! answers.

use palimpsest_core::request::ModelError;
use palimpsest_text::number::fixed;
use serde_json::{Value, json};

use crate::dialect::Dialect;
use crate::http::HttpRequest;
use crate::json;

/// A model on the server.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct InstalledModel {
    /// The name to use in requests.
    pub name: String,
    /// Bytes on disk; 0 if unknown.
    pub size: u64,
    /// Changes when the model does; empty if unknown.
    pub digest: String,
    /// As the server writes it, such as `3.2B` or `134.52M`.
    pub parameter_size: Option<String>,
    /// Such as `Q4_K_M`.
    pub quantization: Option<String>,
    /// Such as `llama`.
    pub family: Option<String>,
    /// The window with which the model was trained, in tokens.
    pub trained_window: Option<u32>,
    /// The window that the server gives it, in tokens, if requests cannot choose one (llama.cpp, vLLM).
    pub window: Option<u32>,
    /// Such as `completion`, `tools`, `thinking`, `vision`. `None` if the server is too old to say.
    pub capabilities: Option<Vec<String>>,
}

/// A model in memory.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LoadedModel {
    /// Its name.
    pub name: String,
    /// The window it was loaded with, in tokens. `None` if the server is too old to say.
    pub window: Option<u32>,
    /// Bytes in memory.
    pub size: u64,
    /// Bytes of it on the graphics card.
    pub size_vram: u64,
    /// The time of unloading, as the server writes times.
    pub expires_at: Option<String>,
}

/// Asks for the installed models.
pub fn list(dialect: Dialect) -> HttpRequest {
    HttpRequest::get(if dialect == Dialect::Ollama {
        "/api/tags"
    } else {
        "/v1/models"
    })
}

/// Asks for the server's settings (llama.cpp only).
pub fn props() -> HttpRequest {
    HttpRequest::get("/props")
}

/// Asks for the server's version (Ollama only).
pub fn version() -> HttpRequest {
    HttpRequest::get("/api/version")
}

/// Asks for the models in memory (Ollama only).
pub fn loaded() -> HttpRequest {
    HttpRequest::get("/api/ps")
}

/// Asks for one model with its vocabulary (Ollama only): 1 to 10 MB of JSON, which `palimpsest-tokens` reads.
pub fn show(model: &str) -> HttpRequest {
    HttpRequest::post("/api/show", &json!({ "model": model, "verbose": true }))
}

/// Reads the answer to [`list`], of either protocol: models in the server's order, without entries that have no name.
pub fn read_list(body: &[u8]) -> Result<Vec<InstalledModel>, ModelError> {
    let value = json::object(body)?;
    if let Some(models) = value["data"].as_array() {
        return Ok(models.iter().filter_map(openai_model).collect());
    }
    let models = value["models"].as_array().ok_or_else(not_expected)?;
    Ok(models.iter().filter_map(ollama_model).collect())
}

/// Reads the answer to [`props`]: the window that one conversation has, in tokens.
pub fn read_props(body: &[u8]) -> Result<Option<u32>, ModelError> {
    let value = json::object(body)?;
    Ok(json::count(&value["default_generation_settings"]["n_ctx"]))
}

/// Reads the answer to [`version`], such as `0.33.0-rc2`.
pub fn read_version(body: &[u8]) -> Result<String, ModelError> {
    json::object(body)?["version"]
        .as_str()
        .map(str::to_owned)
        .ok_or_else(not_expected)
}

/// Reads the answer to [`loaded`].
pub fn read_loaded(body: &[u8]) -> Result<Vec<LoadedModel>, ModelError> {
    let value = json::object(body)?;
    let models = value["models"].as_array().ok_or_else(not_expected)?;
    Ok(models.iter().filter_map(loaded_model).collect())
}

/// Returns `true` if `name` means `installed`. A name without a tag means the tag `latest`.
pub fn same_model(installed: &str, name: &str) -> bool {
    fn tagged(name: &str) -> (&str, &str) {
        let folder = name.rfind('/').map_or(0, |at| at + 1);
        match name[folder..].find(':') {
            Some(at) => (&name[..folder + at], &name[folder + at + 1..]),
            None => (name, "latest"),
        }
    }
    tagged(installed) == tagged(name)
}

fn not_expected() -> ModelError {
    json::bad("it answers, but not as a model server does")
}

/// Reads a text; `""` and everything else become `None`.
fn text(value: &Value) -> Option<String> {
    let text = value.as_str().filter(|text| !text.is_empty());
    text.map(str::to_owned)
}

/// Reads a number of bytes; 0 if unknown.
fn bytes(value: &Value) -> u64 {
    value.as_u64().unwrap_or(0)
}

/// Reads an entry of Ollama's list; `None` if it has no name.
fn ollama_model(entry: &Value) -> Option<InstalledModel> {
    let details = &entry["details"];
    let texts = |all: &Vec<Value>| all.iter().filter_map(text).collect();
    Some(InstalledModel {
        name: text(&entry["name"])?,
        size: bytes(&entry["size"]),
        digest: text(&entry["digest"]).unwrap_or_default(),
        parameter_size: text(&details["parameter_size"]),
        quantization: text(&details["quantization_level"]),
        family: text(&details["family"]),
        trained_window: json::count(&details["context_length"]),
        window: None,
        capabilities: entry["capabilities"].as_array().map(texts),
    })
}

/// Reads an entry of an OpenAI list, with the fields that llama.cpp adds, and the window as vLLM and SGLang report it; `None` if
/// it has no name.
fn openai_model(entry: &Value) -> Option<InstalledModel> {
    let meta = &entry["meta"];
    Some(InstalledModel {
        name: text(&entry["id"])?,
        size: bytes(&meta["size"]),
        parameter_size: meta["n_params"].as_u64().filter(|n| *n > 0).map(parameters),
        quantization: text(&meta["ftype"]),
        trained_window: json::count(&meta["n_ctx_train"]),
        window: json::count(&meta["n_ctx"]).or_else(|| json::count(&entry["max_model_len"])),
        ..InstalledModel::default()
    })
}

/// Reads an entry of the list of models in memory; `None` if it has no name.
fn loaded_model(entry: &Value) -> Option<LoadedModel> {
    Some(LoadedModel {
        name: text(&entry["name"])?,
        window: json::count(&entry["context_length"]),
        size: bytes(&entry["size"]),
        size_vram: bytes(&entry["size_vram"]),
        expires_at: text(&entry["expires_at"]),
    })
}

/// 134515008 → "134.52M", as Ollama writes it.
fn parameters(count: u64) -> String {
    const BILLION: f64 = 1e9;
    const MILLION: f64 = 1e6;
    let count = count as f64;
    if count >= BILLION {
        format!("{}B", fixed(count / BILLION, 1))
    } else {
        format!("{}M", fixed(count / MILLION, 2))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Reads Ollama's list, with fields that older versions leave out and with an entry that makes no sense.
    #[test]
    fn tags() {
        let body = br#"{"models":[
            {"name":"smollm2:135m","model":"smollm2:135m","modified_at":"x","size":98362745,"digest":"fd5f","details":{"parent_model":"","format":"gguf","family":"llama","families":["llama"],"parameter_size":"134.52M","quantization_level":"Q4_1","context_length":8192},"capabilities":["completion"]},
            {"name":"old:7b","details":{"parameter_size":"","family":"llama"}},
            {"size":1}, null]}"#;
        let models = read_list(body).unwrap();
        assert_eq!(models.len(), 2);
        assert_eq!(
            models[0],
            InstalledModel {
                name: "smollm2:135m".into(),
                size: 98_362_745,
                digest: "fd5f".into(),
                parameter_size: Some("134.52M".into()),
                quantization: Some("Q4_1".into()),
                family: Some("llama".into()),
                trained_window: Some(8192),
                window: None,
                capabilities: Some(vec!["completion".into()]),
            }
        );
        assert_eq!(
            models[1],
            InstalledModel {
                name: "old:7b".into(),
                family: Some("llama".into()),
                ..InstalledModel::default()
            }
        );
        assert_eq!(read_list(br#"{"models":[]}"#).unwrap(), []);
        assert_eq!(read_list(b"{}").unwrap_err().code(), "bad_response");
        assert_eq!(read_list(b"<html>").unwrap_err().code(), "bad_response");
    }

    /// llama.cpp's list has the real window and the one of training.
    #[test]
    fn openai_models() {
        let body = br#"{"models":[{"name":"other form"}],"object":"list","data":[{"id":"smollm2:135m","object":"model","owned_by":"llamacpp","meta":{"vocab_type":2,"n_vocab":49152,"n_ctx":4096,"n_ctx_train":8192,"n_params":134515008,"size":96576768,"ftype":"Q4_1"}},{"id":"gpt","meta":null}]}"#;
        let models = read_list(body).unwrap();
        assert_eq!(
            (
                models[0].window,
                models[0].trained_window,
                models[0].parameter_size.as_deref()
            ),
            (Some(4096), Some(8192), Some("134.52M"))
        );
        assert_eq!(
            models[1],
            InstalledModel {
                name: "gpt".into(),
                ..InstalledModel::default()
            }
        );
        assert_eq!(parameters(3_212_749_888), "3.2B");
    }

    /// The windows of running servers, as vLLM lists them and as an older llama.cpp reports them.
    #[test]
    fn windows_of_started_servers() {
        let body = br#"{"object":"list","data":[{"id":"m","object":"model","owned_by":"vllm","max_model_len":16384}]}"#;
        assert_eq!(read_list(body).unwrap()[0].window, Some(16_384));
        let check = |body: &str, expected: Option<u32>| {
            assert_eq!(
                read_props(body.as_bytes()).ok().flatten(),
                expected,
                "{body}"
            );
        };
        check(
            r#"{"default_generation_settings":{"n_ctx":2048},"total_slots":2}"#,
            Some(2048),
        );
        check(r#"{"total_slots":2}"#, None);
        check("[]", None);
        assert_eq!(props().path, "/props");
    }

    /// A loaded model reports its real window.
    #[test]
    fn ps() {
        let body = br#"{"models":[{"name":"smollm2:135m","size":124444998,"expires_at":"2026-11-21T21:40:44Z","size_vram":7,"context_length":512},{"name":"old"}]}"#;
        let models = read_loaded(body).unwrap();
        let first = LoadedModel {
            name: "smollm2:135m".into(),
            window: Some(512),
            size: 124_444_998,
            size_vram: 7,
            expires_at: Some("2026-11-21T21:40:44Z".into()),
        };
        assert_eq!(models[0], first);
        assert_eq!(models[1].window, None);
    }

    #[test]
    fn show_and_version() {
        assert_eq!(
            read_version(br#"{"version":"0.33.0-rc2"}"#).unwrap(),
            "0.33.0-rc2"
        );
        assert_eq!(show("m").body, br#"{"model":"m","verbose":true}"#);
    }

    #[test]
    fn names() {
        let check = |a, b, same| assert_eq!(same_model(a, b), same, "{a} {b}");
        check("llama3.2:latest", "llama3.2", true);
        check("llama3.2:3b", "llama3.2", false);
        check("hf.co:443/org/model:latest", "hf.co:443/org/model", true);
        check("a:b", "a:b", true);
        check("a", "", false);
    }
}
