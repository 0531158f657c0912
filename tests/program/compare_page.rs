//! The study after its matches: what is found, whether it can be believed, and the page.

use lab::compare::{
    Analysis, Cell, Experiment, MatchRow, Measure, Quantiles, Series, Source, Study, Topology, Verdict,
    figure_files, page, summarize,
};
use net::Architecture;

/// The checks that fail, by their names.
fn failing(rows: &[MatchRow]) -> Vec<&'static str> {
    let cells = summarize(rows);
    let checks = Analysis::of(&cells).validity.checks;
    checks.iter().filter(|check| check.failed > 0).map(|check| check.name).collect()
}

fn page_of(study: &Study) -> String {
    let cells = summarize(&study.rows);
    page(study, &Analysis::of(&cells), None)
}

fn shifted(quantiles: &Quantiles, ms: f64) -> Quantiles {
    Quantiles::of_sorted(quantiles.iter().map(|(_, value)| value + ms).collect()).expect("as many")
}

#[test]
fn a_sound_study_is_valid_and_says_what_the_model_has() {
    let study = crate::study::study(20);
    let cells = summarize(&study.rows);
    let analysis = Analysis::of(&cells);
    for check in &analysis.validity.checks {
        assert_eq!(check.failed, 0, "{}: {:?}", check.name, check.failures);
        assert!(check.asked > 0 || check.name == "timers", "{} is never asked", check.name);
    }
    let sentences: Vec<String> = analysis.findings().map(|finding| finding.sentence()).collect();
    // Half an update of 50 ms until the next.
    let at = "At 100 ms RTT and 2 % loss, the opponent's order is confirmed 2";
    let found = sentences.iter().find(|sentence| sentence.starts_with(at));
    let found = found.unwrap_or_else(|| panic!("{sentences:#?}"));
    let says =
        "sooner in p2p than in client-server (20 updates/s, server half-way): differs; 20 matches each.";
    assert!(found.ends_with(says), "{found}");
    // Half an update of 17 ms is less than a tick.
    let says =
        "than in client-server (60 updates/s, server half-way): equivalent within 16.7 ms; 20 matches each.";
    assert!(sentences.iter().any(|sentence| sentence.ends_with(says)), "{sentences:#?}");
    // Prediction shows own orders alike in both: never a difference.
    let is_of_prediction = |sentence: &&String| {
        sentence.contains("own order is shown")
            && sentence.contains("p2p than")
            && sentence.contains("differs")
    };
    let without = |sentence: &String| sentence.contains("no prediction");
    assert!(sentences.iter().filter(is_of_prediction).all(without), "{sentences:#?}");
    let answer = analysis.answer();
    assert!(answer[0].starts_with("The opponent's order is confirmed"), "{answer:?}");
    assert!(answer[0].contains(": sooner in ") && answer[0].contains(", later in 0 of "), "{answer:?}");
    // Two updates late, and what prediction hides.
    let is_mixed = |line: &&String| line.contains("others at an interpolation delay of 2 updates");
    let mixed = answer.iter().find(is_mixed).unwrap_or_else(|| panic!("{answer:?}"));
    assert!(mixed.starts_with("The opponent's order is shown 12"), "{mixed}");
    let [(_, differ), (_, within), (_, equivalent), (_, undecided)] = analysis.verdicts();
    assert_eq!(differ + within + equivalent + undecided, analysis.comparisons.len());
    assert!(differ > 10 && equivalent > 10, "{differ} {equivalent} {undecided}");
}

#[test]
fn each_verdict_follows_from_the_interval_and_the_margin() {
    // Latencies of the other architecture later by so much, with so much of chance in each pair.
    let verdict = |later: f64, spread: f64| {
        let base = crate::study::cell(Architecture::P2p);
        let other = Cell { architecture: Architecture::Relay, ..base.clone() };
        let row = |cell: &Cell, seed: u64, ms: f64| MatchRow {
            opponent_confirmed_ms: Quantiles::of(vec![ms]),
            ..crate::study::row(cell, seed)
        };
        let rows = (0..20).flat_map(|seed| {
            let chance = spread * (f64::from(seed as u32) - 9.5) / 9.5;
            [row(&base, 1000 + seed, 60.0), row(&other, 1000 + seed, 60.0 + later + chance)]
        });
        let rows: Vec<MatchRow> = rows.collect();
        let cells = summarize(&rows);
        let analysis = Analysis::of(&cells);
        let asked = |one: &&lab::compare::Comparison<'_>| one.measure == Measure::CONFIRMED;
        analysis.comparisons.iter().find(asked).expect("compared").verdict()
    };
    assert_eq!(verdict(90.0, 20.0), Verdict::Differs);
    assert_eq!(verdict(12.5, 4.0), Verdict::DiffersWithin, "shown not to be zero, and to be small");
    assert_eq!(verdict(0.0, 4.0), Verdict::Equivalent);
    assert_eq!(verdict(17.1, 2.0), Verdict::Differs, "not equivalent, and not zero");
    assert_eq!(verdict(5.0, 60.0), Verdict::Undecided);
}

/// A fault of a study: what is wrong, how to plant it in a row, and the checks that must fail.
type Fault = (&'static str, fn(&mut MatchRow), &'static [&'static str]);

fn faults() -> [Fault; 17] {
    [
        (
            "labels swapped",
            |row| {
                row.cell.architecture = match row.cell.architecture {
                    Architecture::P2p => Architecture::ClientServer,
                    _ => Architecture::P2p,
                }
            },
            &["labels"],
        ),
        (
            "prediction broken: orders show when they are confirmed",
            |row| (row.own_predicted_ms, row.own_frame_ms) = (row.own_ms.clone(), shifted(&row.own_ms, 5.0)),
            &["prediction shows"],
        ),
        (
            "the others' clock 20 ms behind: orders are seen before they can be",
            |row| {
                row.opponent_confirmed_ms = shifted(&row.opponent_confirmed_ms, -20.0);
                row.opponent_ms = shifted(&row.opponent_ms, -20.0);
                row.opponent_frame_ms = shifted(&row.opponent_frame_ms, -20.0);
            },
            &["bounds", "median bounds"],
        ),
        (
            "the script's clock 20 ms behind",
            |row| row.captured_ms = shifted(&row.captured_ms, 20.0),
            &["instants"],
        ),
        (
            "the decider's clock 20 ms before",
            |row| row.authority_ms = shifted(&row.authority_ms, 20.0),
            &["instants"],
        ),
        (
            "the own clock 20 ms behind",
            |row| row.own_ms = shifted(&row.own_ms, -20.0),
            &["instants", "bounds"],
        ),
        (
            "the display's clock 20 ms before",
            |row| row.own_frame_ms = shifted(&row.own_frame_ms, 20.0),
            &["instants"],
        ),
        ("one seat's clock off by 20 ms", |row| row.unfair_ms += 40.0, &["clocks"]),
        ("shown without prediction", |row| row.cell.prediction = false, &["no prediction"]),
        (
            "updates that are not repeated",
            |row| row.server_kbit_s_up /= if row.cell.repeat_updates { 2.0 } else { 1.0 },
            &["repeats"],
        ),
        ("peers that repeat updates", |row| row.cell.repeat_updates = row.cell.updates == 0, &["labels"]),
        ("bytes out of nowhere", |row| row.bytes_received += 1, &["bytes"]),
        ("stalls without a cause", |row| row.stall_ms += 1.0, &["stalls"]),
        ("other states", |row| row.state_hash = 0, &["states"]),
        ("orders that are never applied", |row| row.censored = 10, &["censored"]),
        (
            "other orders",
            |row| row.commands += u32::from(row.cell.architecture == Architecture::ClientServer),
            &["orders"],
        ),
        (
            "timers of a real match",
            |row| (row.source, row.lateness_ms) = (Source::Real, Some(2.5)),
            &["timers"],
        ),
    ]
}

#[test]
fn each_fault_in_the_rows_fails_its_check() {
    let sound = crate::study::study(3).rows;
    assert_eq!(failing(&sound), [""; 0]);
    for (name, spoil, checks) in faults() {
        let mut rows = sound.clone();
        rows.iter_mut().for_each(spoil);
        let found = failing(&rows);
        assert!(checks.iter().all(|check| found.contains(check)), "{name}: {found:?} instead of {checks:?}");
    }
    // A recorded link is each player's at other instants: there their medians may differ.
    let mut rows = sound.clone();
    rows.retain(|row| row.cell == crate::study::cell(row.cell.architecture));
    rows.iter_mut().for_each(|row| row.unfair_ms = 60.0);
    assert_eq!(failing(&rows), ["clocks"]);
    rows.iter_mut().for_each(|row| row.cell.preset = "trace".into());
    assert_eq!(failing(&rows), [""; 0]);
    // Only a link that is too slow may leave many orders unapplied.
    let mut rows = sound.clone();
    rows.retain(|row| row.cell.bad_link == "outages-5");
    rows.iter_mut().for_each(|row| row.censored = 10);
    assert_eq!(failing(&rows), ["censored"]);
    rows.iter_mut().for_each(|row| row.cell.upstream_kbit_s = 48);
    assert_eq!(failing(&rows), [""; 0]);
    let mut rows = sound.clone();
    rows.retain(|row| row.seed != 1001 || row.cell.architecture == Architecture::P2p);
    assert_eq!(failing(&rows), ["seeds"]);
}

#[test]
fn one_wrong_match_is_named() {
    let mut study = crate::study::study(2);
    let row = study.rows.iter_mut().find(|row| row.seed == 1001 && row.cell.rtt_ms == 200.0).expect("played");
    row.bytes_lost += 7;
    let cells = summarize(&study.rows);
    let validity = Analysis::of(&cells).validity;
    let check = validity.checks.iter().find(|check| check.failed > 0).expect("one fails");
    assert!(!validity.is_valid());
    assert_eq!((check.name, check.failed), ("bytes", 1));
    let says = "defaults: p2p at 200 ms RTT and 0 % loss, seed 1001: 100000 sent, 97900 received, 2007 lost, 100 under way";
    assert_eq!(check.failures, [says]);
}

#[test]
fn chance_is_no_finding() {
    // The same matches under other seeds: all that differs is chance.
    let mut study = crate::study::study(16);
    study.rows.retain(|row| {
        row.cell.architecture == Architecture::P2p && row.cell.experiment == Experiment::Defaults
    });
    let twins: Vec<MatchRow> = study.rows.iter().filter(|row| row.seed >= 1008).cloned().collect();
    study.rows.retain(|row| row.seed < 1008);
    study.rows.extend(twins.into_iter().map(|row| MatchRow {
        seed: row.seed - 8,
        cell: Cell { architecture: Architecture::Relay, ..row.cell.clone() },
        ..row
    }));
    let cells = summarize(&study.rows);
    let analysis = Analysis::of(&cells);
    let between =
        analysis.comparisons.iter().filter(|one| one.base.cell.architecture != one.other.cell.architecture);
    assert!(between.clone().count() > 50);
    let shown: Vec<String> = between.filter(|one| one.is_shown()).map(|one| one.sentence()).collect();
    assert!(shown.is_empty(), "{shown:?}");
}

#[test]
fn experiments_are_never_mixed_and_no_row_counts_twice() {
    let study = crate::study::study(4);
    let cells = summarize(&study.rows);
    let analysis = Analysis::of(&cells);
    assert!(analysis.comparisons.iter().all(|one| one.base.cell.experiment == one.other.cell.experiment));
    for view in [Experiment::Defaults, Experiment::OneBadLink] {
        assert!(analysis.comparisons.iter().any(|one| one.base.cell.experiment == view), "{view:?}");
    }
    // A view changes nothing on the network: what it does not show is compared once, with the view predicted.
    let of_views = analysis.comparisons.iter().filter(|one| one.base.cell.mixed || one.other.cell.mixed);
    let of_views: Vec<String> = of_views.map(|one| one.measure.key()).collect();
    assert!(of_views.iter().any(|key| key == "opponent_ms.p50"), "{of_views:?}");
    assert!(!of_views.iter().any(|key| key.starts_with("opponent_confirmed")), "{of_views:?}");
}

#[test]
fn the_page_has_every_part_and_needs_nothing_else() {
    let page = page_of(&crate::study::study(4));
    for id in ["answer", "run", "better", "further", "findings", "cells", "comparisons", "method", "validity"]
    {
        assert!(page.contains(&format!("<section id=\"{id}\">")), "no section {id}");
    }
    for (number, id) in
        (1..).zip(["figure-1", "figure-2", "figure-3", "latency-own", "distributions", "bandwidth"])
    {
        let figure = page.split(&format!("id=\"{id}\"")).nth(1).unwrap_or_else(|| panic!("no figure {id}"));
        assert!(figure.contains(&format!("<strong><a href=\"#{id}\">Figure {number}</a>. ")), "{id}");
        assert!(figure.contains("<title>"), "the points of {id} say their values");
    }
    // The contents name what there is, and the rows if they are beside the page.
    let (contents, _) = page.split_once("</nav>").expect("contents");
    for link in contents.split("href=\"#").skip(1) {
        let (id, _) = link.split_once('"').expect("closed");
        assert_eq!(page.matches(&format!("id=\"{id}\"")).count(), 1, "{id}");
    }
    assert!(contents.matches("href=\"#").count() > 10 && !contents.contains(".csv"));
    assert!(page.contains("opponent in a frame, ms") && page.contains("opponent in a frame p95, ms"));
    // The three figures come before everything else.
    let at = |text: &str| page.find(text).expect("there");
    assert!(at("id=\"figure-3\"") < at("id=\"answer\""));
    for outside in ["http:", "https:", "//", "src=", "<script", "<link", "@import", "url(", "javascript"] {
        assert!(!page.contains(outside), "{outside} in the page");
    }
    // What the file says is text, never markup.
    assert!(page.contains("&lt;b&gt;A &amp; B&lt;/b&gt;") && !page.contains("<b>"));
    // Colours are those of the style sheet, which has a dark page and a printed one.
    let (style, body) = page.split_once("</style>").expect("a style sheet");
    let colours = ["fill=\"", "stroke=\""].map(|name| body.split(name).skip(1)).into_iter().flatten();
    for colour in colours {
        assert!(colour.starts_with("none") || colour.starts_with("var(--ink-"), "{}", &colour[..20]);
    }
    for ink in (0..=7).filter(|ink| body.contains(&format!("--ink-{ink}"))) {
        assert_eq!(
            style.matches(&format!("--ink-{ink}: #")).count(),
            3,
            "ink {ink} by day, by night and on paper"
        );
    }
    assert_eq!(page.matches("<section").count(), page.matches("</section>").count());
}

#[test]
fn the_figures_are_files_with_their_numbers_beside_them() {
    let study = crate::study::study(4);
    let cells = summarize(&study.rows);
    let files = figure_files(&Analysis::of(&cells));
    let names: Vec<&str> = files.iter().map(|(name, _)| name.as_str()).collect();
    assert_eq!(names, ["figure-1.svg", "figure-2.svg", "figure-3.svg", "figures.csv"]);
    for (name, picture) in &files[..3] {
        assert_balanced(picture.trim());
        assert!(picture.contains("prefers-color-scheme: dark") && picture.contains("var(--paper)"), "{name}");
    }
    let numbers: Vec<&str> = files[3].1.lines().collect();
    assert_eq!(numbers[0], "figure,panel,series,x,value,low,high");
    assert!(numbers[1..].is_sorted() && numbers.len() > 40, "{}", numbers.len());
    let p2p = cells.iter().find(|cell| *cell.cell == crate::study::cell(Architecture::P2p)).expect("played");
    let mean = p2p.mean(Measure::CONFIRMED).expect("measured");
    let [low, high] = mean.interval.expect("many");
    let line = format!("figure-1,\"Confirmed, 2 % loss\",\"p2p\",100,{:.2},{low:.2},{high:.2}", mean.value);
    assert!(numbers.contains(&line.as_str()), "no {line} in {numbers:#?}");
}

#[test]
fn what_latency_decides_is_drawn_from_a_hundred_matches_a_point() {
    for (matches, is_drawn) in [(99, false), (100, true)] {
        let study = crate::study::study(matches);
        let cells = summarize(&study.rows);
        let files = figure_files(&Analysis::of(&cells));
        let drawn = files.iter().find(|(name, _)| name == "figure-4.svg");
        assert_eq!(drawn.is_some(), is_drawn, "{matches} matches");
        drawn.iter().for_each(|(_, picture)| assert_balanced(picture.trim()));
    }
}

#[test]
fn what_units_cost_is_drawn_for_processors_and_links() {
    let mut study = crate::study::study(4);
    let files = |rows: &[MatchRow]| figure_files(&Analysis::of(&summarize(rows)));
    let before = files(&study.rows);
    study.rows.extend(crate::study::armies());
    // Wrong clocks are a factor of its own, and no second point beside that of the base.
    let architectures = [Architecture::P2p, Architecture::ClientServer];
    let wrong = architectures.map(|it| Cell { drift_ppm: 50, ..crate::study::cell(it) });
    study.rows.extend(wrong.iter().map(|cell| crate::study::row(cell, 1000)));
    let after = files(&study.rows);
    // The numbers of the first three are what they were.
    assert_eq!(before.last(), after.last());
    let (_, picture) = after.iter().find(|(name, _)| name == "figure-5.svg").expect("drawn");
    assert_balanced(picture.trim());
    // A logarithmic axis cannot begin at 0.
    assert!(picture.contains(">10<") && !picture.contains(">0<"), "{picture}");
    for says in [
        "Sent by all nodes",
        "Processor time per tick",
        "the server of client-server",
        "states of client-server alone",
    ] {
        assert!(picture.contains(says), "{says}");
    }
}

#[test]
fn every_picture_is_well_formed_and_names_its_axes() {
    let page = page_of(&crate::study::study(4));
    let mut pictures = 0;
    for part in page.split("<svg").skip(1) {
        let svg = format!("<svg{}", part.split_once("</svg>").map_or(part, |(inside, _)| inside));
        assert_balanced(&format!("{svg}</svg>"));
        if svg.contains("role=\"img\"") {
            pictures += 1;
            assert!(svg.contains("rotate(270"), "no title of the vertical axis: {svg}");
            assert!(!svg.contains("NaN") && !svg.contains("inf"), "{svg}");
        }
    }
    assert!(pictures >= 12, "{pictures} pictures");
}

/// Every element of `svg` is closed, in order.
fn assert_balanced(svg: &str) {
    let mut open: Vec<&str> = Vec::new();
    for tag in svg.split('<').skip(1) {
        let (tag, _) = tag.split_once('>').unwrap_or_else(|| panic!("an open tag: {tag}"));
        assert!(tag.matches('"').count() % 2 == 0, "an open quote: {tag}");
        let name = tag.trim_start_matches('/').split([' ', '/', '\n']).next().unwrap_or("");
        if tag.starts_with('/') {
            assert_eq!(open.pop(), Some(name), "{tag}");
        } else if !tag.ends_with('/') {
            open.push(name);
        }
    }
    assert!(open.is_empty(), "never closed: {open:?}");
}

#[test]
fn a_page_made_again_from_the_file_is_the_same() {
    let study = crate::study::study(3);
    let mut file = Vec::new();
    study.write(&mut file).expect("memory");
    let again = Study::read(core::str::from_utf8(&file).expect("text")).expect("just written");
    assert_eq!(again, study);
    assert!(page_of(&again) == page_of(&study), "another page");
}

#[test]
fn a_study_keeps_every_fact_however_its_file_was_saved() {
    let mut study = crate::study::study(2);
    study.environment.push(("not to be cited".into(), "too few, and \"too short\"".into()));
    let mut file = Vec::new();
    study.write(&mut file).expect("memory");
    let text = String::from_utf8(file).expect("text");
    let lines = |change: fn(&str) -> String| text.lines().map(change).collect::<Vec<_>>().join("\n");
    let with_mark = format!("\u{feff}{}", text.replace('\n', "\r\n"));
    let spaced = format!("\n \n{}", text.replace("\n#", " \n\n  #"));
    let spread = lines(|line| if line.starts_with('#') { format!("{line},,,,") } else { line.to_owned() });
    let quoted = lines(|line| {
        if line.starts_with('#') { format!("\"{}\"", line.replace('"', "\"\"")) } else { line.to_owned() }
    });
    let mut facts: Vec<&str> = text.lines().filter(|line| line.starts_with('#')).collect();
    let rows: Vec<&str> = text.lines().filter(|line| !line.starts_with('#')).collect();
    let last = [&rows[..], &facts].concat().join("\n");
    for saved in [&text, &with_mark, &spaced, &spread, &quoted, &last] {
        let saved = game::text_file::decode(saved.clone().into_bytes()).expect("text");
        assert_eq!(Study::read(&saved).expect("a study"), study, "{}", &saved[..200]);
    }
    facts.extend(["# one more: fact"; 100]);
    let many = [&facts[..], &rows].concat().join("\n");
    assert!(Study::read(&many).expect_err("too many").to_string().contains("64"));
    let spoken = format!("# Not from one machine\n{text}");
    let note = ("note".to_owned(), "Not from one machine".to_owned());
    assert!(Study::read(&spoken).expect("a study").environment.contains(&note));
}

#[test]
fn a_file_that_is_no_study_is_refused() {
    let study = crate::study::study(1);
    let mut file = Vec::new();
    study.write(&mut file).expect("memory");
    let text = String::from_utf8(file).expect("text");
    let read = |text: &str| Study::read(text).expect_err("broken").to_string();
    assert_eq!(read(""), "there are no matches in it");
    assert_eq!(read("# cpu: none\n"), "there are no matches in it");
    assert!(read(&text.replacen(",midway,", ",nowhere,", 1)).contains("nowhere"));
    assert!(read(&text[..text.len() - 20]).contains("record"));
    // Numbers that parse and that no match has.
    let spoiled = |spoil: fn(&mut MatchRow)| {
        let mut study = study.clone();
        spoil(&mut study.rows[1]);
        Study::new(study.environment, study.rows).expect_err("out of range").to_string()
    };
    assert_eq!(spoiled(|row| row.cell.rtt_ms = f64::NAN), "match 2: rtt_ms is NaN");
    assert_eq!(spoiled(|row| row.cell.loss = 1.5), "match 2: loss is 1.5");
    assert_eq!(spoiled(|row| row.cell.players = 9), "match 2: players is 9");
    assert_eq!(spoiled(|row| row.stall_by_s = Series(vec![-1.0])), "match 2: stall_by_s is wrong");
    assert_eq!(spoiled(|row| row.cell.preset = "x".repeat(100)), "match 2: preset is too long");
}

#[test]
fn a_study_of_one_match_has_a_page() {
    let cell = Cell { topology: Topology::Listen, ..crate::study::cell(Architecture::ClientServer) };
    let rows = vec![crate::study::row(&cell, 1000)];
    let page = page_of(&Study::new(Vec::new(), rows).expect("in range"));
    assert!(page.contains("There is nothing to say.") && page.contains("All cells"));
}
