//! Randomness that follows a seed.
//!
//! What a program draws from the operating system decides more than it seems: in which order `tokio::select!` looks at
//! its branches, and in which order a `HashMap` is walked. A program that links this crate gets all of that from
//! [`follow`]'s seed, on the thread that called it, so that a simulation takes the same course each time. Threads that
//! never called it are served by the operating system as ever.
//!
//! The standard library draws once for each thread, so a simulation needs a thread of its own.

use std::cell::RefCell;
use std::ffi::c_void;

use fastrand::Rng;

thread_local! {
    static SEEDED: RefCell<Option<Rng>> = const { RefCell::new(None) };
}

/// From now on, this thread's randomness follows the seed.
pub fn follow(seed: u64) {
    SEEDED.with_borrow_mut(|rng| *rng = Some(Rng::with_seed(seed)));
}

/// Takes the place of the C library's function of the same name in programs that link this crate.
///
/// # Safety
///
/// `buffer` must be valid for writes of `length` bytes, as the C library's function demands too.
#[allow(unsafe_code, reason = "the signature is the C library's")]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn getrandom(buffer: *mut c_void, length: usize, flags: u32) -> isize {
    if buffer.is_null() {
        return -1;
    }
    // SAFETY: the caller vouches for the buffer, which is first filled so that no uninitialised byte is looked at.
    let bytes = unsafe {
        buffer.cast::<u8>().write_bytes(0, length);
        std::slice::from_raw_parts_mut(buffer.cast::<u8>(), length)
    };
    let seeded = SEEDED.try_with(|rng| {
        let mut rng = rng.try_borrow_mut().ok()?;
        rng.as_mut().map(|rng| rng.fill(bytes))
    });
    if let Ok(Some(())) = seeded {
        return isize::try_from(length).unwrap_or(isize::MAX);
    }
    let flags = rustix::rand::GetRandomFlags::from_bits_truncate(flags);
    rustix::rand::getrandom(bytes, flags).map_or(-1, |filled| isize::try_from(filled).unwrap_or(isize::MAX))
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;
    use std::thread;

    use super::follow;

    /// The order in which a set is walked on a new thread.
    fn walk(seed: Option<u64>) -> Vec<u32> {
        let walk = move || {
            seed.into_iter().for_each(follow);
            (0..100).collect::<HashSet<u32>>().into_iter().collect()
        };
        thread::spawn(walk).join().unwrap()
    }

    #[test]
    fn a_thread_that_follows_a_seed_walks_sets_in_the_same_order_each_time() {
        assert_eq!(walk(Some(1)), walk(Some(1)));
        assert_ne!(walk(Some(1)), walk(Some(2)));
    }

    #[test]
    fn a_thread_that_follows_none_is_served_by_the_operating_system() {
        assert_ne!(walk(None), walk(None));
    }
}
