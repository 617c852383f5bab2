use anyhow::{Context, Result, ensure};
use clap::ValueEnum;
use tracing_subscriber::EnvFilter;
use tracing_subscriber::filter::LevelFilter;

/// How log lines are written.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub(crate) enum Format {
    /// For people.
    Text,
    /// One JSON object a line, for programs.
    Json,
}

/// Starts logging to standard error.
pub(crate) fn start(filter: &str, format: Format) -> Result<()> {
    for part in filter.split(',').map(str::trim) {
        // A word alone would be taken for the name of a module, and a level with a slip in it would silence the rest.
        ensure!(
            part.contains(['=', '[']) || part.parse::<LevelFilter>().is_ok(),
            "--log: {part:?} is no level: write off, error, warn, info, debug or trace, or a module as in {part}=debug"
        );
    }
    let filter =
        EnvFilter::try_new(filter).with_context(|| format!("--log {filter:?} is not a log filter"))?;
    let builder = tracing_subscriber::fmt().with_env_filter(filter).with_writer(std::io::stderr);
    match format {
        Format::Text => builder.with_ansi(std::io::IsTerminal::is_terminal(&std::io::stderr())).init(),
        Format::Json => builder.json().init(),
    }
    Ok(())
}
