//! What can go wrong before a test gets to run.

use std::io;
use std::path::PathBuf;

/// The control plane, or another program that tests need, cannot be had on this machine. Tests that need it are skipped, never passed; with
/// `WINDLASS_REQUIRE_PLANE` set they fail.
#[derive(Debug, thiserror::Error)]
pub enum PlaneUnavailable {
    /// The binary has to be built and there is no Go to build it with.
    #[error("`go` cannot be run: {source}; install Go 1.26 or newer, or {instead}")]
    GoMissing {
        /// What would make Go unnecessary.
        instead: String,
        /// Why `go version` could not be run.
        source: io::Error,
    },
    /// Go is there but cannot get the modules that the binary is built of.
    #[error(
        "the modules of {} cannot be had; check the network and GOPROXY: {output}",
        module.display()
    )]
    ModulesMissing {
        /// The Go module that was to be built.
        module: PathBuf,
        /// The last lines Go printed.
        output: String,
    },
    /// Python packages are needed and there is no Python to install them with.
    #[error("`python3` cannot be run: {source}; install Python 3.10 or newer with its module venv")]
    PythonMissing {
        /// Why `python3 --version` could not be run.
        source: io::Error,
    },
    /// Python is there but cannot install the packages.
    #[error("the Python packages {packages} cannot be had; check the network and pip's index: {output}")]
    PackagesMissing {
        /// Which ones.
        packages: String,
        /// The last lines pip printed.
        output: String,
    },
    /// All is there and `go build` fails: something is wrong with our own sources, and no reason to skip a test.
    #[error("`go build` in {} failed: {output}", module.display())]
    BuildFailed {
        /// The Go module that was built.
        module: PathBuf,
        /// The last lines Go printed.
        output: String,
    },
    /// The sources or the cache of built binaries cannot be read or written.
    #[error("cannot {action} {}: {source}", path.display())]
    Files {
        /// What was tried.
        action: &'static str,
        /// On which file or folder.
        path: PathBuf,
        /// Why it failed.
        source: io::Error,
    },
    /// No folder to keep built binaries in.
    #[error("no folder to keep built programs in; set WINDLASS_CACHE_DIR, XDG_CACHE_HOME or HOME")]
    NoCache,
}

/// The control plane can be had but did not start, or stopped answering.
#[derive(Debug, thiserror::Error)]
pub enum PlaneError {
    /// It cannot be had here at all.
    #[error(transparent)]
    Unavailable(#[from] PlaneUnavailable),
    /// A file it needs cannot be written, or a process cannot be started.
    #[error("cannot {action}: {source}")]
    Io {
        /// What was tried.
        action: String,
        /// Why it failed.
        source: io::Error,
    },
    /// The keys it needs cannot be made.
    #[error("cannot make the keys of the test control plane: {0}")]
    Keys(#[from] rcgen::Error),
    /// A component ended, or did not become ready in time.
    #[error("{component} {problem}; the end of its log:\n{log}")]
    Component {
        /// Which one.
        component: &'static str,
        /// What it did.
        problem: String,
        /// The last lines it logged.
        log: String,
    },
    /// The API server's address or certificate was not accepted by the client.
    #[error("cannot make a client of the test control plane: {0}")]
    Client(#[source] Box<kube::Error>),
}

impl PlaneError {
    pub(crate) fn io(action: impl Into<String>) -> impl FnOnce(io::Error) -> Self {
        |source| Self::Io { action: action.into(), source }
    }
}

impl PlaneUnavailable {
    /// Whether tests may be skipped for this reason.
    pub(crate) fn excuses(&self) -> bool {
        !matches!(self, Self::BuildFailed { .. }) && std::env::var_os("WINDLASS_REQUIRE_PLANE").is_none()
    }

    pub(crate) fn files(action: &'static str, path: impl Into<PathBuf>) -> impl FnOnce(io::Error) -> Self {
        move |source| Self::Files { action, path: path.into(), source }
    }
}
