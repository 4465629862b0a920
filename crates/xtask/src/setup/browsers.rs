//! Chromium with its driver, and Firefox, from the system.
//!
//! `CHROMIUM`, `CHROMEDRIVER` and `FIREFOX` name other binaries. Children find all three in the same variables.

use std::env;
use std::path::PathBuf;

use anyhow::{Result, bail};

use super::{Machine, install, may_install, say};
use crate::places::on_path;

struct Browser {
    /// The variable with its path, for people and for the tests.
    variable: &'static str,
    /// Its names on the search path, best first.
    names: &'static [&'static str],
    /// The usual paths on macOS and Windows.
    usual: &'static [&'static str],
    /// Debian's package.
    package: &'static str,
}

const BROWSERS: [Browser; 3] = [
    Browser {
        variable: "CHROMIUM",
        names: &[
            "chromium",
            "chromium-browser",
            "google-chrome",
            "google-chrome-stable",
            "chrome",
        ],
        usual: &[
            "/Applications/Google Chrome.app/Contents/MacOS/Google Chrome",
            "/Applications/Chromium.app/Contents/MacOS/Chromium",
            r"C:\Program Files\Google\Chrome\Application\chrome.exe",
        ],
        package: "chromium",
    },
    Browser {
        variable: "CHROMEDRIVER",
        names: &["chromedriver"],
        usual: &["/usr/lib/chromium-browser/chromedriver"],
        package: "chromium-driver",
    },
    Browser {
        variable: "FIREFOX",
        names: &["firefox-esr", "firefox"],
        usual: &[
            "/Applications/Firefox.app/Contents/MacOS/firefox",
            r"C:\Program Files\Mozilla Firefox\firefox.exe",
        ],
        package: "firefox-esr",
    },
];

impl Browser {
    fn path(&self) -> Option<PathBuf> {
        if let Some(named) = env::var_os(self.variable)
            .map(PathBuf::from)
            .filter(|path| path.is_file())
        {
            return Some(named);
        }
        self.names
            .iter()
            .find_map(|name| on_path(name))
            .or_else(|| {
                self.usual
                    .iter()
                    .map(PathBuf::from)
                    .find(|path| path.is_file())
            })
    }
}

pub(crate) fn find(machine: &mut Machine) -> Option<String> {
    let mut names = Vec::new();
    for browser in &BROWSERS {
        let path = browser.path()?;
        names.push(path.file_name()?.to_string_lossy().into_owned());
        machine.set(browser.variable, path);
    }
    Some(names.join(", "))
}

pub(crate) fn prepare(machine: &mut Machine) -> Result<String> {
    if let Some(found) = find(machine) {
        return Ok(found);
    }
    let missing: Vec<&str> = BROWSERS
        .iter()
        .filter(|browser| browser.path().is_none())
        .map(|browser| browser.package)
        .collect();
    if may_install() {
        say(
            "browsers",
            &format!("apt-get install {}", missing.join(" ")),
        );
        // A browser without any font draws empty boxes.
        let mut packages = missing.clone();
        packages.push("fonts-liberation");
        install(&packages)?;
        if let Some(found) = find(machine) {
            return Ok(found);
        }
    }
    bail!("{}", advice(&missing))
}

fn advice(missing: &[&str]) -> String {
    let list = missing.join(" ");
    if on_path("apt-get").is_some() {
        format!("missing: {list}. Run: sudo apt-get install {list}")
    } else if cfg!(target_os = "macos") {
        format!("missing: {list}. Run: brew install --cask google-chrome firefox chromedriver")
    } else if cfg!(windows) {
        format!(
            "missing: {list}. Install Chrome, the chromedriver of its version, and Firefox; put chromedriver on PATH"
        )
    } else {
        format!("missing: {list}. Install Chromium with its chromedriver, and Firefox")
    }
}
