//! Where programs are kept that were built or installed for tests.

use std::env;
use std::fs::{self, File};
use std::path::{Path, PathBuf};

use crate::error::PlaneUnavailable;

/// The folder of what is kept from one run of tests to the next. It is there.
pub(crate) fn cache_dir() -> Result<PathBuf, PlaneUnavailable> {
    let cache = chosen(|name| env::var_os(name).map(PathBuf::from))?;
    fs::create_dir_all(&cache).map_err(PlaneUnavailable::files("create", &cache))?;
    Ok(cache)
}

/// Makes something in the cache unless `is_made` says that it is there. Several test processes may ask at once, so one of
/// them makes it while the others wait for a lock file. This blocks the thread.
pub(crate) fn made_once(
    path: &Path,
    is_made: impl Fn() -> bool,
    make: impl FnOnce() -> Result<(), PlaneUnavailable>,
) -> Result<(), PlaneUnavailable> {
    if is_made() {
        return Ok(());
    }
    let lock_path = path.with_extension("lock");
    let lock = File::create(&lock_path).map_err(PlaneUnavailable::files("create", &lock_path))?;
    lock.lock().map_err(PlaneUnavailable::files("lock", &lock_path))?;
    if is_made() { Ok(()) } else { make() }
}

fn chosen(variable: impl Fn(&str) -> Option<PathBuf>) -> Result<PathBuf, PlaneUnavailable> {
    variable("WINDLASS_CACHE_DIR")
        .or_else(|| Some(variable("XDG_CACHE_HOME")?.join("windlass")))
        .or_else(|| Some(variable("HOME")?.join(".cache/windlass")))
        .ok_or(PlaneUnavailable::NoCache)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_cache_is_where_the_first_variable_that_is_set_says() {
        let among = |set: &'static [(&str, &str)]| {
            chosen(move |name| {
                set.iter().find(|(key, _)| *key == name).map(|(_, value)| PathBuf::from(value))
            })
        };
        let all = among(&[("HOME", "/h"), ("XDG_CACHE_HOME", "/x"), ("WINDLASS_CACHE_DIR", "/w")]);
        assert_eq!(all.unwrap(), Path::new("/w"));
        assert_eq!(among(&[("HOME", "/h"), ("XDG_CACHE_HOME", "/x")]).unwrap(), Path::new("/x/windlass"));
        assert_eq!(among(&[("HOME", "/h")]).unwrap(), Path::new("/h/.cache/windlass"));
        assert!(matches!(among(&[]), Err(PlaneUnavailable::NoCache)));
    }
}
