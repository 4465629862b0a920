//! `cargo xtask serve` serves the chat app at http://localhost:8080, for people and for the tests.

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
use crate::forget;
use crate::module::Quality;
use crate::places::{Places, digest};
use crate::policy;
use crate::process;
use crate::setup::{self, Machine, Part, say};
use http::{Request, Response};

/// The options of `serve`.
#[derive(Debug)]
pub(crate) struct Wish {
    /// The port; 0 takes any free one.
    pub(crate) port: u16,
    pub(crate) quality: Quality,
    /// Serve the content of `dist/app` without a build.
    pub(crate) as_built: bool,
    /// Also start a small real model.
    pub(crate) demo_model: bool,
    /// Further origins to which the page may connect.
    pub(crate) connect: Vec<String>,
}

/// Builds the app unless told otherwise, then serves until the process ends.
pub(crate) fn run(places: &Places, wish: &Wish) -> Result<()> {
    policy::check(&wish.connect)?;
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
        build_app::build(&machine, wish.quality, &[])?;
        forget::build(&machine, wish.quality)?;
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

    let site = Site {
        folder,
        connect: wish.connect.clone(),
        models: small_model(places, &machine, wish),
    };
    let forget = Site {
        folder: forget::folder(&places.dist()),
        connect: Vec::new(),
        models: None,
    };
    // A build without a policy is an error at the start, not at the first request.
    policy::read(&site.page()?)?;
    let site = Arc::new(Sites { app: site, forget });
    for stream in listener.incoming() {
        // A connection that broke before it began affects no other.
        let Ok(stream) = stream else { continue };
        let site = Arc::clone(&site);
        thread::spawn(move || http::converse(&stream, |request| site.answer(request)));
    }
    if let Some(mut child) = model {
        process::end(&mut child);
    }
    Ok(())
}

/// The folder with the small model's file, which is set up unless the app is served as it was built. Without it the app is
/// served all the same.
fn small_model(places: &Places, machine: &Machine, wish: &Wish) -> Option<PathBuf> {
    if !wish.as_built
        && let Err(error) = setup::prepare(places, &[Part::Python, Part::Model])
    {
        say(
            "model",
            &format!("{error:#}: a model in the page needs a GGUF file of your own"),
        );
    }
    setup::model::weights(machine)
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
        // The server ends when its standard input closes, so it cannot outlive this process.
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
            // Without a reader the server would block on a full pipe.
            thread::spawn(move || lines.for_each(drop));
            return Ok((child, address));
        }
    }
    process::end(&mut child);
    bail!("the demo model's server ended before it was ready")
}

/// The app, and the page beside it.
struct Sites {
    app: Site,
    forget: Site,
}

/// The address of the other page.
const FORGET: &str = "/forget";

/// The address of files of models.
const MODELS: &str = "/models/";

/// The name under which the page knows the small model.
const SMALL_MODEL: &str = "smollm2:135m";

/// The script whose worker runs llama.cpp.
const MODEL_WORKER: &str = "model-worker.js";

impl Sites {
    fn answer(&self, request: &Request) -> Response {
        match request.path.strip_prefix(FORGET) {
            Some("") => Response::moved("/forget/"),
            Some(rest) if rest.starts_with('/') => self.forget.answer(&request.at(rest)),
            _ => self.app.answer(request),
        }
    }
}

/// The folder that is served.
struct Site {
    folder: PathBuf,
    /// The folder with files of models for the model in the page.
    models: Option<PathBuf>,
    /// Further origins to which the page may connect, besides those of its own policy.
    connect: Vec<String>,
}

impl Site {
    /// Answers with files found below the folder only. A request selects among them by name, so the path of a request
    /// never touches the file system.
    fn answer(&self, request: &Request) -> Response {
        if let Some(wanted) = request.path.strip_prefix(MODELS) {
            return self.model(wanted);
        }
        let files = build_app::files(&self.folder).unwrap_or_default();
        let wanted = match request.path.trim_start_matches('/') {
            "" => "index.html",
            path => path,
        };
        let found = files
            .iter()
            .find(|name| name.as_str() == wanted && !is_encoded(name));
        // The app handles addresses inside of it, so it is served for them.
        let page =
            || (request.wants_page && !wanted.contains('.')).then(|| "index.html".to_owned());
        let Some(name) = found.cloned().or_else(page) else {
            return Response::text(404, "Not found\n");
        };
        let widened = !self.connect.is_empty() && CHANGED.contains(&name.as_str());
        let encoding = [("br", ".br"), ("gzip", ".gz")]
            .into_iter()
            .filter(|_| !widened)
            .find(|(coding, ending)| {
                request.accepts(coding) && files.contains(&format!("{name}{ending}"))
            });
        let file = self.folder.join(format!(
            "{name}{}",
            encoding.map_or("", |(_, ending)| ending)
        ));
        let body = fs::read(&file).map_err(anyhow::Error::from);
        let body = body.and_then(|body| {
            if widened {
                self.widened(body)
            } else {
                Ok(body)
            }
        });
        let policy = self.page().and_then(|page| {
            let mut policy = policy::read(&page)?.to_owned();
            if !self.connect.is_empty() {
                policy = policy::widen(&policy, &self.connect)?;
            }
            Ok(policy::header(&policy))
        });
        let (Ok(body), Ok(policy)) = (body, policy) else {
            return Response::text(404, "Not found\n");
        };
        let tag = format!("\"{}\"", digest(&body));
        let mut response = if request.has(&tag) {
            Response::unchanged()
        } else {
            Response::file(mime(&name), body)
        };
        if let Some((coding, _)) = encoding {
            response.header("content-encoding", coding);
        }
        response.header("etag", &tag);
        response.header("vary", "accept-encoding");
        // A name with a hash stands for one content for ever. Browsers ask again for files without one.
        let kept = if build_app::has_hash(&name) {
            "public, max-age=31536000, immutable"
        } else {
            "no-cache"
        };
        response.header("cache-control", kept);
        let is_model = build_app::without_hash(&name) == MODEL_WORKER;
        let policy = if is_model {
            policy::MODEL_WORKER
        } else {
            &policy
        };
        response.header("content-security-policy", policy);
        response.header("x-content-type-options", "nosniff");
        response.header("referrer-policy", "no-referrer");
        response.header("cross-origin-opener-policy", "same-origin");
        response
    }

    /// Answers with the list of the models that are there, or with the file of one.
    fn model(&self, wanted: &str) -> Response {
        let folder = self.models.as_deref();
        let files = folder.and_then(|folder| build_app::files(folder).ok());
        let files = files.unwrap_or_default().into_iter();
        let is_model = |name: &String| Path::new(name).extension().is_some_and(|e| e == "gguf");
        let files: Vec<String> = files.filter(is_model).collect();
        let folder = folder.unwrap_or(Path::new(""));
        if wanted == "list.json" {
            let size = |name: &String| fs::metadata(folder.join(name)).map_or(0, |m| m.len());
            let list = files.iter().map(
                |name| serde_json::json!({ "name": SMALL_MODEL, "file": name, "size": size(name) }),
            );
            let list = serde_json::Value::from(list.collect::<Vec<_>>());
            let mut response = Response::file("application/json", list.to_string().into_bytes());
            response.header("cache-control", "no-cache");
            return response;
        }
        let found = files.iter().find(|name| name.as_str() == wanted);
        match found.and_then(|name| fs::read(folder.join(name)).ok()) {
            Some(body) => Response::file("application/octet-stream", body),
            None => Response::text(404, "Not found\n"),
        }
    }

    fn page(&self) -> Result<String> {
        fs::read_to_string(self.folder.join("index.html"))
            .context("dist/app is empty: run `cargo xtask build` first")
    }

    /// The page or `sw.js` with the wider policy. This counts as another build, so a browser replaces a cached page
    /// without the further origins.
    fn widened(&self, body: Vec<u8>) -> Result<Vec<u8>> {
        let page = self.page()?;
        let policy = policy::read(&page)?;
        let version = build_app::version(&page).context("index.html names no build")?;
        let other = format!("{version}-{}", digest(self.connect.join(" ").as_bytes()));
        let body = String::from_utf8(body)?
            .replace(policy, &policy::widen(policy, &self.connect)?)
            .replace(&format!("\"{version}\""), &format!("\"{other}\""));
        Ok(body.into_bytes())
    }
}

/// The files that contain the policy and the version of the build.
const CHANGED: [&str; 2] = ["index.html", "sw.js"];

fn is_encoded(name: &str) -> bool {
    Path::new(name)
        .extension()
        .is_some_and(|ending| ending == "br" || ending == "gz")
}

/// The media type by ending. Streaming compilation needs the exact one of wasm.
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

    fn page() -> String {
        let page =
            "<!doctype html><html data-build=\"0123\" lang=\"en\">\n<meta charset=\"utf-8\">\n";
        policy::write(page, &[]).unwrap()
    }

    /// A folder with a page, a module in two encodings, and a file outside that must never be served.
    fn site(name: &str) -> (Site, PathBuf) {
        let base =
            std::env::temp_dir().join(format!("palimpsest-serve-{name}-{}", std::process::id()));
        let folder = base.join("app");
        fs::create_dir_all(folder.join("fonts")).unwrap();
        fs::write(base.join("secret.txt"), "secret").unwrap();
        fs::write(folder.join("index.html"), page()).unwrap();
        fs::write(
            folder.join("sw.js"),
            "const BUILD = {\"version\":\"0123\"};",
        )
        .unwrap();
        fs::write(folder.join("app.0123456789abcdef.css"), "a {}").unwrap();
        fs::write(folder.join("app.wasm"), "raw").unwrap();
        fs::write(folder.join("app.wasm.br"), "br").unwrap();
        fs::write(folder.join("fonts/a.woff2"), "font").unwrap();
        (
            Site {
                folder,
                connect: Vec::new(),
                models: None,
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

    /// Files of models come from a folder of their own, which need not be there; only the worker with the model has another policy.
    #[test]
    fn models_are_listed_and_sent() {
        let (mut site, base) = site("models");
        let list = |site: &Site, body: &str| {
            check(site, "GET /models/list.json HTTP/1.1\r\n\r\n", 200, body);
        };
        list(&site, "[]");
        let folder = base.join("weights");
        fs::create_dir_all(&folder).unwrap();
        fs::write(folder.join("small.gguf"), "GGUF").unwrap();
        fs::write(folder.join("notes.txt"), "secret").unwrap();
        site.models = Some(folder);
        list(
            &site,
            r#"[{"name":"smollm2:135m","file":"small.gguf","size":4}]"#,
        );
        check(
            &site,
            "GET /models/small.gguf HTTP/1.1\r\n\r\n",
            200,
            "GGUF",
        );
        for path in ["/models/notes.txt", "/models/../secret.txt", "/models/"] {
            let request = format!("GET {path} HTTP/1.1\r\n\r\n");
            check(&site, &request, 404, "Not found\n");
        }
        let script = "model-worker.0123456789abcdef.js";
        for (name, blobs) in [(script, true), ("app.wasm", false)] {
            fs::write(site.folder.join(name), "raw").unwrap();
            let request = format!("GET /{name} HTTP/1.1\r\n\r\n");
            let sent = check(&site, &request, 200, "raw");
            let policy = sent.get("content-security-policy").unwrap();
            assert_eq!(policy.contains("worker-src 'self' blob:"), blobs, "{name}");
        }
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
        let page = check(&site, request, 200, &page());
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

    /// The page beside the app has its own files and its own policy, and none of the app's.
    #[test]
    fn the_other_page_is_a_site_of_its_own() {
        let (app, base) = site("app-beside");
        let folder = base.join("forget");
        fs::create_dir_all(folder.join("samples")).unwrap();
        let own = "<meta charset=\"utf-8\">\n<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; connect-src 'self'\">\n";
        fs::write(folder.join("index.html"), own).unwrap();
        fs::write(folder.join("samples/trip.json"), "[]").unwrap();
        let forget = Site {
            folder,
            connect: Vec::new(),
            models: None,
        };
        let sites = Sites { app, forget };
        let get = |path: &str| {
            let request = format!("GET {path} HTTP/1.1\r\nAccept: text/html\r\n\r\n");
            sites.answer(&Request::parse(&request).unwrap())
        };
        let moved = get("/forget");
        assert_eq!(
            (moved.status, moved.get("location")),
            (308, Some("/forget/"))
        );
        let answer = get("/forget/");
        assert_eq!(answer.body, own.as_bytes());
        assert_eq!(
            answer.get("content-security-policy"),
            Some("default-src 'none'; connect-src 'self'; frame-ancestors 'self'")
        );
        assert_eq!(get("/forget/samples/trip.json").body, b"[]");
        assert_eq!(get("/forget/app.wasm").status, 404);
        assert_eq!(get("/forgetful").body, page().as_bytes());
        assert_eq!(get("/").body, page().as_bytes());
        fs::remove_dir_all(base).unwrap();
    }

    /// The page and the header have the same policy, with and without further origins. A browser with the narrower page
    /// learns that this is another build.
    #[test]
    fn the_page_and_the_header_say_the_same() {
        let (mut site, base) = site("policy");
        let get = |site: &Site, path: &str| {
            let request = format!("GET /{path} HTTP/1.1\r\nAccept-Encoding: br\r\n\r\n");
            site.answer(&Request::parse(&request).unwrap())
        };
        for connect in [vec![], vec!["http://192.168.1.20:11434".to_owned()]] {
            site.connect = connect;
            let answer = get(&site, "");
            let page = String::from_utf8(answer.body.clone()).unwrap();
            let policy = policy::read(&page).unwrap();
            assert_eq!(
                answer.get("content-security-policy"),
                Some(policy::header(policy).as_str())
            );
            assert_eq!(
                policy.contains("http://192.168.1.20:11434"),
                !site.connect.is_empty()
            );
            let version = build_app::version(&page).unwrap().to_owned();
            assert_eq!(version == "0123", site.connect.is_empty());
            let script = String::from_utf8(get(&site, "sw.js").body).unwrap();
            assert_eq!(
                script,
                format!("const BUILD = {{\"version\":\"{version}\"}};")
            );
        }
        fs::remove_dir_all(base).unwrap();
    }

    /// A file with a hash in its name is kept for ever. Browsers ask again for any other file, and receive it only if
    /// it differs.
    #[test]
    fn what_did_not_change_is_not_sent_again() {
        let (site, base) = site("kept");
        let styles = check(
            &site,
            "GET /app.0123456789abcdef.css HTTP/1.1\r\n\r\n",
            200,
            "a {}",
        );
        assert!(styles.get("cache-control").unwrap().contains("immutable"));
        let first = check(&site, "GET / HTTP/1.1\r\n\r\n", 200, &page());
        assert_eq!(first.get("cache-control"), Some("no-cache"));
        let again = format!(
            "GET / HTTP/1.1\r\nIf-None-Match: W/\"x\", {}\r\n\r\n",
            first.get("etag").unwrap()
        );
        check(&site, &again, 304, "");
        fs::write(site.folder.join("index.html"), page() + "new").unwrap();
        check(&site, &again, 200, &(page() + "new"));
        fs::remove_dir_all(base).unwrap();
    }
}
