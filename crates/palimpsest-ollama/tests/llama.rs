//! Tests the codec against a real llama.cpp. Set `PALIMPSEST_LLAMA_URL` to a server such as `node
//! tests/ollama/llama.mjs` starts. The tests do not assert the quality of the model's prose.

#![allow(clippy::unwrap_used, clippy::print_stdout, reason = "tests")]

mod wire;

use palimpsest_core::message::Role;
use palimpsest_core::request::{
    ChatRequest, Delta, FinishReason, ModelError, Purpose, RequestMessage, RequestOptions, Usage,
};
use palimpsest_ollama::{Dialect, HttpRequest, catalog, encode};
use serde_json::{Value, json};
use wire::{complete, send, text};

/// The address of a server that `node tests/ollama/llama.mjs` started.
fn server() -> String {
    std::env::var("PALIMPSEST_LLAMA_URL").expect("PALIMPSEST_LLAMA_URL")
}

fn post(url: &str, path: &str, body: &Value) -> Value {
    let bytes = send(url, &HttpRequest::post(path, body))
        .unwrap()
        .body(usize::MAX)
        .unwrap();
    serde_json::from_slice(&bytes).unwrap()
}

/// Counts a text with the server's own vocabulary.
fn tokens(url: &str, content: &str) -> u32 {
    let answer = post(
        url,
        "/tokenize",
        &json!({ "content": content, "parse_special": true }),
    );
    answer["tokens"].as_array().unwrap().len() as u32
}

/// Counts the prompt that the server's template makes of a request. The server must report this number.
fn prompt_tokens(url: &str, request: &ChatRequest) -> u32 {
    let body: Value = serde_json::from_slice(&encode(Dialect::LlamaCpp, request).body).unwrap();
    let prompt = post(url, "/apply-template", &body)["prompt"]
        .as_str()
        .unwrap()
        .to_owned();
    tokens(url, &prompt)
}

fn request(messages: Vec<RequestMessage>, num_predict: u32, purpose: Purpose) -> ChatRequest {
    let mut options = RequestOptions::new(2048, num_predict);
    options.temperature = Some(0.0);
    ChatRequest {
        model: "smollm2:135m".into(),
        messages,
        tools: vec![],
        options,
        purpose,
    }
}

fn usage(deltas: &[Delta]) -> Usage {
    deltas
        .iter()
        .find_map(|d| {
            if let Delta::Usage(usage) = d {
                Some(*usage)
            } else {
                None
            }
        })
        .unwrap()
}

/// A chat streams, its count agrees with the server's own tokenizer, and it stops at the given text.
#[test]
#[ignore = "needs a llama.cpp, which `cargo xtask test --all` starts"]
fn with_llama_a_chat_streams_and_is_counted() {
    let url = server();
    let messages = vec![
        RequestMessage::text(Role::System, "You are a terse assistant."),
        RequestMessage::text(Role::User, "Name three colours. Grüße aus Köln, 你好 😀"),
    ];
    let asked = request(messages, 12, Purpose::Chat);
    let deltas = complete(&url, Dialect::LlamaCpp, &asked).unwrap();
    let usage = usage(&deltas);
    assert_eq!(usage.prompt_tokens, Some(prompt_tokens(&url, &asked)));
    assert!(usage.prompt_ms.is_some() && usage.completion_ms.is_some());
    let said = text(&deltas);
    assert!(!said.is_empty());
    let Some(Delta::Done { reason }) = deltas.last() else {
        panic!("{deltas:?}")
    };
    let written = usage.completion_tokens.unwrap();
    match reason {
        FinishReason::Length => assert_eq!(written, 12),
        FinishReason::Stop => assert!(written < 12),
        other => panic!("{other:?}"),
    }
    // The streamed text has the reported count, give or take the token that ends an answer.
    assert!(
        tokens(&url, &said).abs_diff(written) <= 2,
        "{said:?}: {} and {written}",
        tokens(&url, &said)
    );
    println!(
        "prompt {:?}, answer {written} tokens: {said:?}",
        usage.prompt_tokens
    );
}

/// P7: the model summarises a real conversation within the allowed tokens, and the summary is shorter than its source.
#[test]
#[ignore = "needs a llama.cpp, which `cargo xtask test --all` starts"]
fn with_llama_a_real_summary() {
    let url = server();
    let said = [
        "We are planning three weeks in Portugal with two children, by train, under 4,500 euros.",
        "Start in Porto for four nights, then the Douro valley, then Coimbra and Lisbon.",
        "One child cannot eat nuts, and my sister is vegetarian. Please never suggest restaurants without a menu online.",
        "Noted. Flats with a kitchen are about 110 euros a night in Porto and 85 elsewhere.",
        "Book Porto from the 3rd to the 7th of May, confirmation QR-88213.",
    ]
    .map(|text| json!({ "role": "user", "text": text }).to_string())
    .join("\n");
    let long = format!(
        "Summarize this conversation in at most 60 words.\n\n{}",
        [said.as_str(); 4].join("\n")
    );
    let asked = request(
        vec![RequestMessage::text(Role::User, long)],
        80,
        Purpose::Summary,
    );
    let deltas = complete(&url, Dialect::LlamaCpp, &asked).unwrap();
    let usage = usage(&deltas);
    let (prompt, answer) = (
        usage.prompt_tokens.unwrap(),
        usage.completion_tokens.unwrap(),
    );
    assert_eq!(prompt, prompt_tokens(&url, &asked));
    assert!(answer > 0 && answer <= 80, "{answer}");
    assert!(answer * 3 < prompt, "{answer} of {prompt}");
    assert!(!text(&deltas).trim().is_empty());
    println!(
        "summarised {prompt} tokens to {answer} in {:?} ms: {:?}",
        usage.completion_ms,
        text(&deltas)
    );
}

/// B9: the server refuses a prompt beyond the window with both numbers, and the window agrees with the catalog.
#[test]
#[ignore = "needs a llama.cpp, which `cargo xtask test --all` starts"]
fn with_llama_an_overflow_names_its_numbers() {
    let url = server();
    let body = send(&url, &catalog::list(Dialect::LlamaCpp))
        .unwrap()
        .body(usize::MAX)
        .unwrap();
    let models = catalog::read_list(&body).unwrap();
    let window = models[0].window.unwrap();
    assert_eq!(models[0].trained_window, Some(8192));
    let asked = request(
        vec![RequestMessage::text(
            Role::User,
            "word ".repeat(window as usize + 10),
        )],
        8,
        Purpose::Chat,
    );
    let error = complete(&url, Dialect::LlamaCpp, &asked).unwrap_err();
    assert_eq!(
        error,
        ModelError::Overflow {
            prompt: Some(prompt_tokens(&url, &asked)),
            window: Some(window)
        }
    );
}
