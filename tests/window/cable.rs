//! Two network namespaces joined by a cable.

use std::process::Command;

/// A network namespace, deleted when dropped.
pub(crate) struct Namespace(pub(crate) String);

impl Namespace {
    pub(crate) fn make(tag: &str) -> Option<Self> {
        let name = format!("arenaw{}{tag}", std::process::id());
        let added = Command::new("ip").args(["netns", "add", &name]).output();
        if !added.as_ref().is_ok_and(|output| output.status.success()) {
            println!("both windows on loopback: no network namespaces here (root and `ip` are needed)");
            return None;
        }
        let namespace = Self(name);
        namespace.ip("link set lo up");
        Some(namespace)
    }

    pub(crate) fn ip(&self, arguments: &str) {
        let done = Command::new("ip").args(["-n", &self.0]).args(arguments.split(' ')).status();
        assert!(done.is_ok_and(|status| status.success()), "ip -n {} {arguments}", self.0);
    }
}

impl Drop for Namespace {
    fn drop(&mut self) {
        let _ = Command::new("ip").args(["netns", "del", &self.0]).status();
    }
}

/// Two namespaces joined by a cable.
pub(crate) struct Cable {
    pub(crate) a: Namespace,
    pub(crate) b: Namespace,
}

impl Cable {
    /// Between namespaces whose names begin with `tag`, which is this test's alone.
    pub(crate) fn lay(tag: &str) -> Option<Self> {
        let cable = Self { a: Namespace::make(&format!("{tag}a"))?, b: Namespace::make(&format!("{tag}b"))? };
        cable.a.ip(&format!("link add v type veth peer name v netns {}", cable.b.0));
        for (side, address) in [(&cable.a, "10.78.0.1/24"), (&cable.b, "10.78.0.2/24")] {
            side.ip(&format!("addr add {address} dev v"));
            side.ip("link set v up");
        }
        Some(cable)
    }
}
