//! A process tells its own memory, whatever started it.

use crate::arena::Arena;

/// What this process holds while it starts another.
const BALLAST_BYTES: usize = 400 << 20;

#[test]
fn a_server_started_by_a_large_process_tells_its_own_memory() {
    let home = tempfile::tempdir().expect("a folder");
    let ballast = std::hint::black_box(vec![7_u8; BALLAST_BYTES]);
    let server = Arena::run(
        home.path(),
        &["serve", "--port=0", "--no-discovery", "--ticks=120", "--json", "--record=off"],
    );
    let address = format!("127.0.0.1:{}", server.port());
    let words = ["join", &address, "--headless", "--json", "--record=off"];
    let clients = [Arena::run(home.path(), &words), Arena::run(home.path(), &words)];
    // The last that the system says of it while it lives.
    let peak = server.peak_bytes();
    let told = server.end().json()["memory_bytes"].as_u64().expect("a number");
    for client in clients {
        let result = client.end().json();
        let told = result["memory_bytes"].as_u64().expect("a number");
        assert!(told < BALLAST_BYTES as u64 / 2, "a client with {told} bytes");
    }
    println!("{told} bytes told, {peak} by the system");
    assert_eq!(std::hint::black_box(ballast).last(), Some(&7), "it was held");
    assert!(told.abs_diff(peak) * 5 <= peak, "{told} bytes, {peak} by the system");
}
