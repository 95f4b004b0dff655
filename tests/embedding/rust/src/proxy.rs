//! A way to a server that loses answers.

use std::io::{Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

/// It ends with the program.
pub struct Proxy {
    pub url: String,
    /// How many answers to calls are still to be lost.
    pub losses: Arc<AtomicUsize>,
}

impl Proxy {
    /// Before the server of a URL.
    pub fn open(url: &str) -> Self {
        let server = url.strip_prefix("redis://").expect("a URL of Redis");
        let server: SocketAddr = server.parse().expect("an address");
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let url = format!("redis://{}", listener.local_addr().expect("an address"));
        let losses = Arc::new(AtomicUsize::new(0));
        let left = losses.clone();
        thread::spawn(move || {
            for near in listener.incoming().flatten() {
                let far = TcpStream::connect(server).expect("a server");
                join(near, far, left.clone());
            }
        });
        Self { url, losses }
    }
}

fn join(near: TcpStream, far: TcpStream, losses: Arc<AtomicUsize>) {
    let asked = Arc::new(AtomicUsize::new(0));
    let answered = asked.clone();
    let there = (near.try_clone().unwrap(), far.try_clone().unwrap());
    thread::spawn(move || {
        pass(there.0, there.1, |data| {
            let calls = data.windows(7).filter(|word| word == b"EVALSHA").count();
            asked.fetch_add(calls, Ordering::SeqCst);
            true
        });
    });
    thread::spawn(move || {
        pass(far, near, |_| {
            let lose = |left: usize| left.checked_sub(1);
            let call = answered.swap(0, Ordering::SeqCst) > 0;
            !call
                || losses
                    .fetch_update(Ordering::SeqCst, Ordering::SeqCst, lose)
                    .is_err()
        });
    });
}

/// From one to the other, as long as `goes` says so.
fn pass(mut from: TcpStream, mut to: TcpStream, goes: impl Fn(&[u8]) -> bool) {
    let mut buffer = [0; 65536];
    while let Ok(length @ 1..) = from.read(&mut buffer) {
        let data = &buffer[..length];
        if !goes(data) || to.write_all(data).is_err() {
            break;
        }
    }
    let _ = from.shutdown(Shutdown::Both);
    let _ = to.shutdown(Shutdown::Both);
}
