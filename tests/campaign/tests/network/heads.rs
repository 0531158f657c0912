//! A peer that signs two versions of its inputs is named by all, and nobody else is.

use std::cell::Cell;
use std::net::SocketAddr;
use std::rc::Rc;
use std::time::Duration;

use crate::peers::{OTHER, Peer, SPLIT, address, body, mesh, run, tells_otherwise};
use campaign::{Behaviour, ByzantinePlan, CampaignOptions, Scenario, VirtualResult, virtual_match};
use game::ControllerChoice;
use lab::{LinkFaults, VirtualSetup};
use net::message::{Head, PacketId, ShownHead, decode, encode};
use net::{Architecture, End, Equivocation, InputDelay, Time};
use sim::{PlayerId, Tick};

const LINK: &str = "delay=20ms,jitter=2ms";

const LINKS: [&str; 3] =
    ["delay=2ms", "delay=25ms,jitter=3ms,loss=3%", "delay=80ms,jitter=20ms,loss=8%,dup=5%,reorder=5%"];
const MINUTE: Duration = Duration::from_secs(60);
/// Lets a peer sign for these what it has told them.
fn sign_otherwise(peer: &mut Peer, whom: &[SocketAddr]) {
    if peer.ends.is_empty() && peer.inputs.len() > 100 && peer.session.open_tick() > Tick(SPLIT.into()) {
        whom.iter().for_each(|&to| peer.session.sign_another(to, SPLIT, OTHER));
    }
}

#[test]
fn who_tells_different_inputs_is_named_by_all_others_with_the_same_proof() {
    for (seats, whom) in [(3, &[0][..]), (3, &[1]), (4, &[0]), (4, &[0, 1]), (4, &[1, 3])] {
        let liar = 2;
        let whom: Vec<SocketAddr> = whom.iter().map(|&seat| address(seat)).collect();
        let mut peers = mesh(seats, 600, InputDelay::Auto, LINKS[1]);
        peers[liar].wire = tells_otherwise(whom.clone());
        run(&mut peers, MINUTE, |_, peers| sign_otherwise(&mut peers[liar], &whom));
        let proof = named(&peers, liar);
        assert_eq!(proof.seat, PlayerId(2), "{whom:?}");
    }
}

/// The others have ended with the same proof, which it is.
fn named(peers: &[Peer], liar: usize) -> &Equivocation {
    let honest: Vec<&Peer> = (0..peers.len()).filter(|&seat| seat != liar).map(|seat| &peers[seat]).collect();
    for peer in &honest {
        assert_eq!((&peer.ends[..], peer.proofs.len()), (&[End::Desync][..], 1), "{}", peer.address);
        assert_eq!(peer.proofs, honest[0].proofs, "{}", peer.address);
    }
    let proof = &honest[0].proofs[0];
    assert!(proof.holds());
    let changes: [fn(&mut Equivocation); 6] = [
        |proof| proof.match_id[0] ^= 1,
        |proof| proof.tick = proof.tick.plus(1),
        |proof| proof.seat = PlayerId(1),
        |proof| proof.chains[0][0] ^= 1,
        |proof| proof.signatures[1][0][0] ^= 1,
        |proof| (proof.chains[1], proof.signatures[1]) = (proof.chains[0], proof.signatures[0]),
    ];
    for change in changes {
        let mut changed = proof.clone();
        change(&mut changed);
        assert!(!changed.holds(), "{changed:?}");
    }
    proof
}

/// A peer that lies itself shows heads of the others that they have not signed: damaged, of another tick, over another
/// chain, in the name of another seat.
#[test]
fn nobody_is_named_by_what_others_say_that_it_signed() {
    let mut peers = mesh(3, 600, InputDelay::Auto, LINK);
    let heads = Rc::new(Cell::new(None));
    let kept = heads.clone();
    peers[0].wire = Box::new(move |_, to, bytes| {
        if bytes[0] == PacketId::Head as u8 && to == address(2) {
            kept.set(decode::<Head>(body(bytes)).ok());
        }
        Some(bytes.to_vec())
    });
    let whom = vec![address(1)];
    peers[2].wire = tells_otherwise(whom.clone());
    let mut has_forged = false;
    run(&mut peers, MINUTE, |_, peers| {
        sign_otherwise(&mut peers[2], &whom);
        let Some(Head { tick, signature }) = heads.get() else { return };
        // What is shown may be of ticks that may run soon.
        if has_forged || peers[2].inputs.len() < usize::from(SPLIT) - 20 {
            return;
        }
        has_forged = true;
        let shown =
            |seat, tick, chain| ShownHead { seat: PlayerId(seat), tick, chain: [chain; 32], signature };
        let split = u32::from(SPLIT) + 1;
        for forged in [shown(0, tick, 1), shown(0, split, 2), shown(1, tick, 3), shown(1, split, 4)] {
            for to in [0, 1].into_iter().filter(|&to| PlayerId(to) != forged.seat) {
                peers[2].session.forge(address(to), PacketId::ShownHead, &encode(&forged));
            }
        }
    });
    for peer in &peers[..2] {
        let named: Vec<PlayerId> = peer.proofs.iter().map(|proof| proof.seat).collect();
        assert_eq!(named, [PlayerId(2)], "{}", peer.address);
        assert!(peer.proofs[0].holds());
    }
}

/// A virtual match of this many probes, in which the last tells one of the others something else from then on.
fn split(seed: u64, peers: usize, at: u8) -> VirtualResult {
    let options = CampaignOptions {
        architecture: Architecture::P2p,
        has_byzantine: true,
        peers: Some(peers),
        ticks: 900,
        ..crate::campaigns::options(1, seed, 900)
    };
    let mut plan = ByzantinePlan::only(Behaviour::Equivocation, peers - 1, Time(4_000_000 + seed * 17_000));
    plan.spells[0].at = Some(at);
    let controllers = std::iter::repeat_n(ControllerChoice::Probe, peers).collect();
    let setup = VirtualSetup { controllers, ..options.setup(seed) };
    let link = LinkFaults { delay: Duration::from_millis(20), ..LinkFaults::default() };
    virtual_match(setup, Scenario { byzantine: Some(plan), ..Scenario::steady(peers, link) }).play()
}

#[test]
fn worlds_that_part_over_different_inputs_name_who_told_them() {
    let mut proven = 0;
    // Every fifth is encrypted and signed in earnest.
    for seed in 0..10 {
        let peers = 3 + seed as usize % 2;
        let result = split(seed, peers, seed as u8 % 3);
        assert_eq!(result.violations, [], "seed {seed}");
        let figures = result.found.expect("a byzantine seat");
        assert_eq!(figures.behaviours, [Behaviour::Equivocation], "seed {seed}");
        proven += figures.proven;
    }
    assert!(proven > 20, "{proven} honest players have a proof");
}
