//! A way to a server that loses answers.

use std::io::{Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;

/// It ends with the program.
pub struct Proxy {
    pub url: String,
    /// How many answers to calls are still to be lost.
    pub losses: Arc<AtomicUsize>,
    links: Arc<Mutex<Vec<Arc<AtomicBool>>>>,
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
        let links: Arc<Mutex<Vec<Arc<AtomicBool>>>> = Arc::default();
        let known = links.clone();
        thread::spawn(move || {
            for near in listener.incoming().flatten() {
                let far = TcpStream::connect(server).expect("a server");
                let silent = Arc::new(AtomicBool::new(false));
                known.lock().unwrap().push(silent.clone());
                join(near, far, left.clone(), silent);
            }
        });
        Self { url, losses, links }
    }

    /// No answer passes any more on what is connected now.
    pub fn silence(&self) {
        for silent in self.links.lock().unwrap().iter() {
            silent.store(true, Ordering::SeqCst);
        }
    }
}

fn join(near: TcpStream, far: TcpStream, losses: Arc<AtomicUsize>, silent: Arc<AtomicBool>) {
    let asked = Arc::new(AtomicUsize::new(0));
    let answered = asked.clone();
    let there = (near.try_clone().unwrap(), far.try_clone().unwrap());
    thread::spawn(move || {
        pass(there.0, there.1, |data| {
            let calls = data.windows(7).filter(|word| word == b"EVALSHA").count();
            asked.fetch_add(calls, Ordering::SeqCst);
            Goes::On
        });
    });
    thread::spawn(move || {
        pass(far, near, |_| {
            let lose = |left: usize| left.checked_sub(1);
            let call = answered.swap(0, Ordering::SeqCst) > 0;
            let lost = || losses.fetch_update(Ordering::SeqCst, Ordering::SeqCst, lose);
            match silent.load(Ordering::SeqCst) {
                true => Goes::Nowhere,
                false if call && lost().is_ok() => Goes::Down,
                false => Goes::On,
            }
        });
    });
}

/// What becomes of data: of `Down`, and of the connection with it.
enum Goes {
    On,
    Nowhere,
    Down,
}

/// From one to the other, as `goes` says.
fn pass(mut from: TcpStream, mut to: TcpStream, goes: impl Fn(&[u8]) -> Goes) {
    let mut buffer = [0; 65536];
    while let Ok(length @ 1..) = from.read(&mut buffer) {
        let data = &buffer[..length];
        match goes(data) {
            Goes::On if to.write_all(data).is_ok() => {}
            Goes::Nowhere => {}
            _ => break,
        }
    }
    let _ = from.shutdown(Shutdown::Both);
    let _ = to.shutdown(Shutdown::Both);
}
