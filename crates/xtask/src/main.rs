//! `cargo xtask …`: sets up, builds, serves and tests palimpsest. One file per command.
#![allow(clippy::print_stdout, reason = "this is a command-line program")]

mod bench;
mod build_app;
mod coverage;
mod forget;
mod module;
mod pack;
mod places;
mod policy;
mod process;
mod serve;
mod setup;
mod size;
mod test;

use std::collections::VecDeque;
use std::env;
use std::process::ExitCode;

use anyhow::{Context, Result, bail};

use module::Quality;
use places::Places;
use setup::Part;

const HELP: &str = "\
cargo xtask <command>

  serve      build the chat app and serve it at http://localhost:8080, the page of what is forgotten at /forget/
               --port N       another port (0: any free one)
               --dev          a quick build instead of a small one
               --as-built     serve dist/app without building
               --demo-model   also start a small real model on this machine
               --connect URL  let the page reach a model server elsewhere
  test       everything CI holds: format, lints, tests, browsers
               --all          also what is too slow for every run
               --vscode       also the extension in a real VS Code
               --only NAME    just this step (can be repeated); --list names them
  build      the chat app in dist/app, and the page of what is forgotten in dist/www/forget (--dev: quick)
               --connect URL  let the page reach a model server elsewhere
  pack       the npm packages in dist/npm, npm-ui and npm-inline, with tarballs (--dev: quick)
  size       bytes of both against their budgets
  bench      NAME: ours and its peers in one run; without a name: which there are
               survival       what survives of conversations
                 --quick        a smaller run, only conversations of our own
                 --bless        also write the tables into docs/benchmarks.md
                 --layers FILE  instead of tables: layers for reading
  coverage   lines of the crates that the host tests reach
  setup      bring what is missing: wasm toolchain, wasm-bindgen, npm tools, browsers
               [PART…]        just these: wasm bindgen npm browsers python model oracles lighthouse vscode
  doctor     say what is there and what is missing; change nothing
  help       this

Downloads, tools and cargo's target folder live in palimpsest/ in your cache folder
($XDG_CACHE_HOME or ~/.cache). Nothing is installed into the checkout.
WASM_SKIP_RUSTUP=1 makes the wasm toolchain from Debian's packages instead of rustup.";

fn main() -> ExitCode {
    let arguments = env::args().skip(1).collect();
    match run(arguments) {
        Ok(code) => code,
        Err(error) => {
            eprintln!("xtask: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn run(mut arguments: VecDeque<String>) -> Result<ExitCode> {
    let command = arguments.pop_front().unwrap_or_else(|| "help".into());
    let places = Places::find()?;
    match command.as_str() {
        "setup" => {
            let parts = parts(&mut arguments)?;
            setup::prepare(&places, &parts)?;
        }
        "doctor" => {
            finish(&arguments)?;
            setup::doctor(&places);
        }
        "test" => {
            let choice = test::Choice {
                all: flag(&mut arguments, "--all"),
                vscode: flag(&mut arguments, "--vscode"),
                only: values(&mut arguments, "--only")?,
            };
            let list = flag(&mut arguments, "--list");
            finish(&arguments)?;
            if list {
                test::list();
            } else {
                return Ok(test::run(&places, &choice));
            }
        }
        "serve" => serve::run(&places, &serve_wish(arguments)?)?,
        "build" => {
            let quality = quality(&mut arguments);
            let connect = values(&mut arguments, "--connect")?;
            finish(&arguments)?;
            let machine = setup::prepare(&places, &[Part::Wasm, Part::Bindgen, Part::Npm])?;
            build_app::build(&machine, quality, &connect)?;
            forget::build(&machine, quality)?;
        }
        "pack" => {
            let quality = quality(&mut arguments);
            finish(&arguments)?;
            let machine = setup::prepare(&places, &[Part::Wasm, Part::Bindgen, Part::Npm])?;
            pack::pack(&machine, quality)?;
        }
        "size" => {
            finish(&arguments)?;
            size::report(&setup::prepare(&places, &[Part::Npm])?)?;
        }
        "bench" => {
            let name = arguments.pop_front();
            if name.as_deref() == Some("survival") {
                let wish = bench::Survival {
                    quick: flag(&mut arguments, "--quick"),
                    bless: flag(&mut arguments, "--bless"),
                    layers: values(&mut arguments, "--layers")?.pop(),
                };
                finish(&arguments)?;
                bench::survival(&setup::prepare(&places, &[])?, &wish)?;
                return Ok(ExitCode::SUCCESS);
            }
            finish(&arguments)?;
            bench::run(&setup::prepare(&places, &Part::USUAL)?, name.as_deref())?;
        }
        "coverage" => {
            finish(&arguments)?;
            coverage::run(&setup::prepare(&places, &[Part::Wasm])?)?;
        }
        "help" | "--help" | "-h" => println!("{HELP}"),
        unknown => bail!("no command {unknown:?}; `cargo xtask help` lists them"),
    }
    Ok(ExitCode::SUCCESS)
}

fn serve_wish(mut arguments: VecDeque<String>) -> Result<serve::Wish> {
    let port = values(&mut arguments, "--port")?
        .pop()
        .unwrap_or_else(|| "8080".into());
    let wish = serve::Wish {
        port: port
            .parse()
            .with_context(|| format!("--port wants a number, not {port:?}"))?,
        quality: quality(&mut arguments),
        as_built: flag(&mut arguments, "--as-built"),
        demo_model: flag(&mut arguments, "--demo-model"),
        connect: values(&mut arguments, "--connect")?,
    };
    finish(&arguments)?;
    Ok(wish)
}

fn quality(arguments: &mut VecDeque<String>) -> Quality {
    if flag(arguments, "--dev") {
        Quality::Dev
    } else {
        Quality::Release
    }
}

fn parts(arguments: &mut VecDeque<String>) -> Result<Vec<Part>> {
    let mut parts = Vec::new();
    for name in arguments.drain(..) {
        match Part::named(&name) {
            Some(part) => parts.push(part),
            None => bail!(
                "no part {name:?} of the set-up; there are wasm, bindgen, npm, browsers, python, model, oracles, lighthouse, vscode"
            ),
        }
    }
    if parts.is_empty() {
        parts.extend(Part::USUAL);
    }
    for (part, first) in [
        (Part::Bindgen, Part::Wasm),
        (Part::Model, Part::Python),
        (Part::Oracles, Part::Python),
    ] {
        if parts.contains(&part) && !parts.contains(&first) {
            parts.push(first);
        }
    }
    parts.sort();
    Ok(parts)
}

/// Removes `name` from the arguments. Returns `true` if it was there.
fn flag(arguments: &mut VecDeque<String>, name: &str) -> bool {
    let before = arguments.len();
    arguments.retain(|argument| argument != name);
    arguments.len() < before
}

/// Removes every `name VALUE` from the arguments and returns the values.
fn values(arguments: &mut VecDeque<String>, name: &str) -> Result<Vec<String>> {
    let mut values = Vec::new();
    while let Some(at) = arguments.iter().position(|argument| argument == name) {
        arguments.remove(at);
        match arguments.remove(at) {
            Some(value) => values.push(value),
            None => bail!("{name} wants a value"),
        }
    }
    Ok(values)
}

/// Refuses arguments that no option used.
fn finish(arguments: &VecDeque<String>) -> Result<()> {
    match arguments.front() {
        Some(unknown) => bail!("no option {unknown:?} here; `cargo xtask help` lists them"),
        None => Ok(()),
    }
}
