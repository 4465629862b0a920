//! The folders: the checkout, and the cache that outlives it.

use std::env;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};

/// The folders that every command uses.
#[derive(Debug, Clone)]
pub(crate) struct Places {
    /// The workspace's root.
    pub(crate) root: PathBuf,
    /// `palimpsest/` in the user's cache folder: toolchain, tools, packages and cargo's target folder.
    /// It is shared by all checkouts, so that a fresh clone does not start from nothing.
    pub(crate) cache: PathBuf,
}

impl Places {
    pub(crate) fn find() -> Result<Self> {
        let root = match env::var_os("CARGO_MANIFEST_DIR") {
            Some(dir) => Path::new(&dir).ancestors().nth(2).map(Path::to_path_buf),
            None => env::current_dir()?
                .ancestors()
                .find(|dir| dir.join("crates/xtask").is_dir())
                .map(Path::to_path_buf),
        };
        let root = root.context("not inside a checkout of palimpsest")?;
        let cache = user_cache()
            .context("no home folder: set XDG_CACHE_HOME")?
            .join("palimpsest");
        std::fs::create_dir_all(&cache)
            .with_context(|| format!("cannot create {}", cache.display()))?;
        Ok(Self { root, cache })
    }

    /// Cargo's target folder for all crates but xtask itself.
    pub(crate) fn target(&self) -> PathBuf {
        self.cache.join("target")
    }

    /// The folder of the build results: the app and the package.
    pub(crate) fn dist(&self) -> PathBuf {
        self.root.join("dist")
    }
}

fn user_cache() -> Option<PathBuf> {
    if let Some(dir) = env::var_os("XDG_CACHE_HOME").filter(|dir| !dir.is_empty()) {
        return Some(dir.into());
    }
    if cfg!(windows) {
        return env::var_os("LOCALAPPDATA").map(PathBuf::from);
    }
    Some(env::home_dir()?.join(".cache"))
}

/// Finds a program by `name` on the search path. Also tries the endings of Windows.
pub(crate) fn on_path(name: &str) -> Option<PathBuf> {
    let endings: &[&str] = if cfg!(windows) {
        &["", ".exe", ".cmd"]
    } else {
        &[""]
    };
    let path = env::var_os("PATH")?;
    env::split_paths(&path)
        .flat_map(|dir| {
            endings
                .iter()
                .map(move |ending| dir.join(format!("{name}{ending}")))
        })
        .find(|file| file.is_file())
}

/// Returns a short name for a content (FNV-1a, 64 bits). It names cache folders and protects nothing.
pub(crate) fn digest(bytes: &[u8]) -> String {
    let hash = bytes.iter().fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
        (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3)
    });
    format!("{hash:016x}")
}
