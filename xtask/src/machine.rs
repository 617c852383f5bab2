use std::fs;

/// The machine that figures were measured on, in a few words.
pub(crate) fn description() -> String {
    let cores = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
    let model = field("/proc/cpuinfo", "model name").unwrap_or_else(|| "an unknown processor".to_owned());
    let memory =
        field("/proc/meminfo", "MemTotal").and_then(|text| text.split(' ').next()?.parse::<u64>().ok());
    let memory = memory.map_or_else(|| "?".to_owned(), |kib| (kib / (1 << 20)).to_string());
    format!("on {cores} cores of {model} with {memory} GiB of memory")
}

fn field(file: &str, name: &str) -> Option<String> {
    let text = fs::read_to_string(file).ok()?;
    let line = text.lines().find(|line| line.starts_with(name))?;
    Some(line.split_once(':')?.1.trim().to_owned())
}
