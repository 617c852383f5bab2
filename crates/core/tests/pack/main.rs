//! What the packer does, seen from outside.

#[cfg(test)]
mod bounds;
#[cfg(test)]
mod check;
#[cfg(test)]
mod examples;
#[cfg(test)]
mod properties;
#[cfg(test)]
mod random;
