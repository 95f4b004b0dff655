//! What the tests of the client need, and the worker and the locks that the pages show.

#[rustfmt::skip]
pub mod calls;
pub mod hints;
pub mod lock;
pub mod proxy;
pub mod state;
pub mod worker;
