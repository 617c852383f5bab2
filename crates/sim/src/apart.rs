//! Playing histories in processes of their own, so that each takes the same course whatever was played before.

use std::io::Write;
use std::process::{Command, Stdio};

use anyhow::{Context, Result};
use windlass_sim::{History, Outcome};

/// This program, to be run once more.
pub(crate) struct Apart {
    arguments: Vec<String>,
}

impl Apart {
    pub(crate) fn new() -> Self {
        Self { arguments: vec!["--json".to_owned()] }
    }

    /// With a mistake planted into the controller.
    #[cfg(feature = "planted")]
    pub(crate) fn with_mistake(mistake: windlass_control::planted::Mistake) -> Self {
        Self { arguments: vec!["--json".to_owned(), "--mistake".to_owned(), format!("{mistake:?}")] }
    }

    /// Plays the history of a seed.
    pub(crate) fn play_seed(&self, seed: u64) -> Result<Outcome> {
        self.run(&["--seed".to_owned(), seed.to_string()])
    }

    /// Plays a history.
    pub(crate) fn play_history(&self, history: &History) -> Result<Outcome> {
        let mut file = tempfile::NamedTempFile::new().context("cannot write the history down")?;
        file.write_all(serde_json::to_string(history)?.as_bytes())
            .context("cannot write the history down")?;
        self.run(&["--history".to_owned(), file.path().display().to_string()])
    }

    fn run(&self, what: &[String]) -> Result<Outcome> {
        let program = std::env::current_exe().context("this program cannot be found")?;
        let run = Command::new(program).args(&self.arguments).args(what).stdin(Stdio::null()).output();
        let run = run.context("this program cannot be run once more")?;
        serde_json::from_slice(&run.stdout).with_context(|| {
            format!("a run ended with {}: {}", run.status, String::from_utf8_lossy(&run.stderr))
        })
    }
}
