//! `cargo xtask serve`: the chat app at http://localhost:8080, for people and for the tests.

mod http;

use std::fs;
use std::io::{BufRead, BufReader, Write as _};
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Child, Stdio};
use std::sync::Arc;
use std::thread;

use anyhow::{Context, Result, bail, ensure};

use crate::build_app;
use crate::module::Quality;
use crate::places::Places;
use crate::process;
use crate::setup::{self, Machine, Part, say};
use http::{Request, Response};

/// What `serve` was asked for.
#[derive(Debug)]
pub(crate) struct Wish {
    /// 0 takes any free port.
    pub(crate) port: u16,
    pub(crate) quality: Quality,
    /// Serve what `dist/app` holds without building.
    pub(crate) as_built: bool,
    /// Also start a small real model.
    pub(crate) demo_model: bool,
    /// Further origins the page may connect to.
    pub(crate) connect: Vec<String>,
}

/// Builds unless told otherwise, then serves until ended.
pub(crate) fn run(places: &Places, wish: &Wish) -> Result<()> {
    let policy = content_security_policy(&wish.connect)?;
    let mut parts = Vec::new();
    if !wish.as_built {
        parts.extend([Part::Wasm, Part::Bindgen, Part::Npm]);
    }
    if wish.demo_model {
        parts.extend([Part::Python, Part::Model]);
    }
    let machine = setup::prepare(places, &parts)?;
    let folder = places.dist().join("app");
    if !wish.as_built {
        build_app::build(&machine, wish.quality)?;
    }
    ensure!(
        folder.join("index.html").is_file(),
        "dist/app is empty: run `cargo xtask build` first"
    );

    let listener = TcpListener::bind(("127.0.0.1", wish.port))
        .with_context(|| format!("port {} is taken: try --port with another", wish.port))?;
    let port = listener.local_addr()?.port();
    let mut model = None;
    if wish.demo_model {
        let (child, address) = start_model(&machine)?;
        say(
            "model",
            &format!(
                "SmolLM2 at {address}: in the app choose an OpenAI-compatible server with this address"
            ),
        );
        model = Some(child);
    }
    println!("http://localhost:{port}");
    std::io::stdout().flush()?;

    let site = Arc::new(Site { folder, policy });
    for stream in listener.incoming() {
        // a connection that broke before it began concerns nobody else
        let Ok(stream) = stream else { continue };
        let site = Arc::clone(&site);
        thread::spawn(move || http::converse(&stream, |request| site.answer(request)));
    }
    if let Some(mut child) = model {
        process::end(&mut child);
    }
    Ok(())
}

/// Starts llama.cpp with a model from the Python environment, on loopback.
fn start_model(machine: &Machine) -> Result<(Child, String)> {
    let script = machine.places.root.join("tests/ollama/llama_server.py");
    ensure!(
        script.is_file(),
        "the demo model's server is not there yet: tests/ollama/llama_server.py is missing"
    );
    let python = machine
        .get("PALIMPSEST_PYTHON")
        .context("the Python environment is not set up")?
        .to_owned();
    say("model", "loading");
    let mut child = machine
        .command(python)
        .arg(&script)
        .args(["--port", "8081"])
        // it ends when its standard input does, so that it cannot outlive us
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()?;
    let output = child
        .stdout
        .take()
        .context("the server's output is piped")?;
    let mut lines = BufReader::new(output).lines();
    while let Some(Ok(line)) = lines.next() {
        if let Some(address) = line.strip_prefix("ready ") {
            let address = address.trim().to_owned();
            // keep reading, or the server would block on a full pipe
            thread::spawn(move || lines.for_each(drop));
            return Ok((child, address));
        }
    }
    process::end(&mut child);
    bail!("the demo model's server ended before it was ready")
}

/// What the page may do: its own scripts, styles and wasm, and connections to this machine; no text becomes markup.
/// The journeys in `tests/e2e/` run under the same policy.
pub(crate) fn content_security_policy(connect: &[String]) -> Result<String> {
    let mut origins = String::from("'self' http://localhost:* http://127.0.0.1:*");
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
        origins.push(' ');
        origins.push_str(origin.trim_end_matches('/'));
    }
    Ok(format!(
        "default-src 'none'; script-src 'self' 'wasm-unsafe-eval'; style-src 'self'; img-src 'self' data: blob:; \
         font-src 'self'; connect-src {origins}; manifest-src 'self'; worker-src 'self'; base-uri 'none'; \
         form-action 'none'; frame-ancestors 'self'; require-trusted-types-for 'script'; trusted-types palimpsest-worker shell"
    ))
}

/// The folder that is served and the policy that goes with every page.
struct Site {
    folder: PathBuf,
    policy: String,
}

impl Site {
    /// Only files found below the folder are ever opened: a request selects among them by name, so no path of
    /// a request touches the file system.
    fn answer(&self, request: &Request) -> Response {
        let files = build_app::files(&self.folder).unwrap_or_default();
        let wanted = match request.path.trim_start_matches('/') {
            "" => "index.html",
            path => path,
        };
        let found = files
            .iter()
            .find(|name| name.as_str() == wanted && !is_encoded(name));
        // an address inside the app, opened directly, is the app's to understand
        let page =
            || (request.wants_page && !wanted.contains('.')).then(|| "index.html".to_owned());
        let Some(name) = found.cloned().or_else(page) else {
            return Response::text(404, "Not found\n");
        };
        let encoding = [("br", ".br"), ("gzip", ".gz")]
            .into_iter()
            .find(|(coding, ending)| {
                request.accepts(coding) && files.contains(&format!("{name}{ending}"))
            });
        let file = self.folder.join(format!(
            "{name}{}",
            encoding.map_or("", |(_, ending)| ending)
        ));
        let Ok(body) = fs::read(&file) else {
            return Response::text(404, "Not found\n");
        };
        let mut response = Response::file(mime(&name), body);
        if let Some((coding, _)) = encoding {
            response.header("content-encoding", coding);
        }
        response.header("vary", "accept-encoding");
        response.header("cache-control", "no-cache");
        response.header("content-security-policy", &self.policy);
        response.header("x-content-type-options", "nosniff");
        response.header("referrer-policy", "no-referrer");
        response.header("cross-origin-opener-policy", "same-origin");
        response
    }
}

fn is_encoded(name: &str) -> bool {
    Path::new(name)
        .extension()
        .is_some_and(|ending| ending == "br" || ending == "gz")
}

/// The media type by ending; wasm's must be exact for streaming compilation.
fn mime(name: &str) -> &'static str {
    match Path::new(name)
        .extension()
        .and_then(|ending| ending.to_str())
        .unwrap_or_default()
    {
        "html" => "text/html; charset=utf-8",
        "js" | "mjs" => "text/javascript; charset=utf-8",
        "css" => "text/css; charset=utf-8",
        "wasm" => "application/wasm",
        "json" | "map" => "application/json",
        "webmanifest" => "application/manifest+json",
        "svg" => "image/svg+xml",
        "png" => "image/png",
        "ico" => "image/x-icon",
        "webp" => "image/webp",
        "woff2" => "font/woff2",
        "txt" | "md" => "text/plain; charset=utf-8",
        _ => "application/octet-stream",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A folder with a page, a module in two encodings, and a file outside that must never be served.
    fn site(name: &str) -> (Site, PathBuf) {
        let base =
            std::env::temp_dir().join(format!("palimpsest-serve-{name}-{}", std::process::id()));
        let folder = base.join("app");
        fs::create_dir_all(folder.join("fonts")).unwrap();
        fs::write(base.join("secret.txt"), "secret").unwrap();
        fs::write(folder.join("index.html"), "<!doctype html>").unwrap();
        fs::write(folder.join("app.wasm"), "raw").unwrap();
        fs::write(folder.join("app.wasm.br"), "br").unwrap();
        fs::write(folder.join("fonts/a.woff2"), "font").unwrap();
        (
            Site {
                folder,
                policy: content_security_policy(&[]).unwrap(),
            },
            base,
        )
    }

    fn check(site: &Site, request: &str, status: u16, body: &str) -> Response {
        let request = Request::parse(request).unwrap();
        let response = site.answer(&request);
        assert_eq!(
            (
                response.status,
                String::from_utf8_lossy(&response.body).as_ref()
            ),
            (status, body)
        );
        response
    }

    #[test]
    fn files_come_with_their_type_and_encoding() {
        let (site, base) = site("types");
        let plain = check(&site, "GET /app.wasm HTTP/1.1\r\n\r\n", 200, "raw");
        assert_eq!(plain.get("content-type"), Some("application/wasm"));
        assert_eq!(plain.get("content-encoding"), None);
        let brotli = check(
            &site,
            "GET /app.wasm HTTP/1.1\r\nAccept-Encoding: gzip, br\r\n\r\n",
            200,
            "br",
        );
        assert_eq!(brotli.get("content-type"), Some("application/wasm"));
        assert_eq!(brotli.get("content-encoding"), Some("br"));
        let font = check(
            &site,
            "GET /fonts/a.woff2?v=1 HTTP/1.1\r\n\r\n",
            200,
            "font",
        );
        assert_eq!(font.get("content-type"), Some("font/woff2"));
        fs::remove_dir_all(base).unwrap();
    }

    #[test]
    fn nothing_outside_the_folder_is_reachable() {
        let (site, base) = site("outside");
        for path in [
            "/../secret.txt",
            "/%2e%2e/secret.txt",
            "/fonts/../../secret.txt",
            "/..%2fsecret.txt",
            "//etc/passwd",
            "/app.wasm.br",
        ] {
            check(
                &site,
                &format!("GET {path} HTTP/1.1\r\n\r\n"),
                404,
                "Not found\n",
            );
        }
        fs::remove_dir_all(base).unwrap();
    }

    #[test]
    fn an_address_inside_the_app_opens_the_app() {
        let (site, base) = site("inside");
        let request = "GET /session/7 HTTP/1.1\r\nAccept: text/html,*/*\r\n\r\n";
        let page = check(&site, request, 200, "<!doctype html>");
        assert!(
            page.get("content-security-policy")
                .is_some_and(|policy| policy.contains("default-src 'none'"))
        );
        check(
            &site,
            "GET /session/7 HTTP/1.1\r\nAccept: */*\r\n\r\n",
            404,
            "Not found\n",
        );
        check(
            &site,
            "GET /gone.js HTTP/1.1\r\nAccept: text/html\r\n\r\n",
            404,
            "Not found\n",
        );
        fs::remove_dir_all(base).unwrap();
    }

    #[test]
    fn connect_widens_the_policy_by_origins_only() {
        let policy = content_security_policy(&["http://192.168.1.20:11434/".into()]).unwrap();
        assert!(policy.contains(
            "connect-src 'self' http://localhost:* http://127.0.0.1:* http://192.168.1.20:11434;"
        ));
        for wrong in [
            "192.168.1.20",
            "http://a b",
            "http://a; script-src *",
            "ftp://a",
            "http://",
        ] {
            assert!(content_security_policy(&[wrong.into()]).is_err(), "{wrong}");
        }
    }
}
