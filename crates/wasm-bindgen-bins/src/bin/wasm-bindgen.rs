//! `wasm-bindgen`: writes the JavaScript that belongs to a wasm module.

use std::process::ExitCode;

fn main() -> ExitCode {
    match wasm_bindgen_cli::wasm_bindgen::run_cli_with_args(std::env::args_os()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("wasm-bindgen: {error:?}");
            ExitCode::FAILURE
        }
    }
}
