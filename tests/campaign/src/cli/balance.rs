//! `campaign balance`.

use anyhow::Context as _;
use comfy_table::{CellAlignment, Table};
use serde_json::{Value, json};
use std::fs::File;
use std::io::BufWriter;
use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Instant;

use super::args::BalanceArguments;
use super::console::{self, found, print};
use bot::PlayerCounts;
use campaign::balance::{
    BALANCE_SHARD_BYTES_MAX, BalanceOptions, BalanceReport, BalanceShard, Figure, Suite, Unit, Verdict,
    balance, balance_shard, merged,
};
use game::{data, text_file};
use sim::{Map, TickRate};

/// Plays the matches and prints the results.
pub(crate) fn run(arguments: &BalanceArguments) -> anyhow::Result<ExitCode> {
    let options = options(arguments)?;
    let bar = console::progress_bar(0);
    let progress = |over: usize, total: usize| {
        bar.set_length(total as u64);
        bar.set_position(over as u64);
    };
    let began = Instant::now();
    if let Some((shard, file)) = arguments.shard.zip(arguments.results.as_deref()) {
        let mut to = BufWriter::new(File::create(file).with_context(|| cannot_write(file))?);
        let results = balance_shard(&options, shard, progress)?;
        bar.finish_and_clear();
        results.write(&mut to).with_context(|| cannot_write(file))?;
        return Ok(ExitCode::SUCCESS);
    }
    let report = if arguments.rebuild.is_empty() {
        balance(&options, progress)?
    } else {
        let shards =
            arguments.rebuild.iter().map(|file| read_shard(file)).collect::<anyhow::Result<Vec<_>>>()?;
        merged(&options, &shards)?
    };
    bar.finish_and_clear();
    anyhow::ensure!(
        !report.lines.is_empty(),
        "no line of this suite fits these maps: all but `seats` need two bases"
    );
    let pace = Pace::new(&report, options.tick_rate, began.elapsed().as_secs_f64());
    let text = || format!("{}\n{}{}", table(&report), summary(&report, &pace), bot_line(&options, &report));
    print(arguments.json, || as_json(&options, &report, &pace), text);
    let fails = report.figures.iter().any(|figure| figure.verdict() == Some(Verdict::Fails));
    Ok(found(arguments.check && fails))
}

fn read_shard(file: &Path) -> anyhow::Result<BalanceShard> {
    let read = || -> anyhow::Result<BalanceShard> {
        Ok(BalanceShard::read(&text_file::read(file, BALANCE_SHARD_BYTES_MAX)?)?)
    };
    read().with_context(|| format!("cannot read the results in {}", file.display()))
}

fn cannot_write(file: &Path) -> String {
    format!("cannot write {}", file.display())
}

fn options(arguments: &BalanceArguments) -> anyhow::Result<BalanceOptions> {
    let maps: Vec<Arc<Map>> = if arguments.map.is_empty() {
        data::embedded_maps().collect()
    } else {
        arguments.map.iter().map(data::map).collect::<Result<_, _>>()?
    };
    Ok(BalanceOptions {
        matches: arguments.matches,
        seed: arguments.seed,
        jobs: super::args::jobs(arguments.jobs),
        tick_rate: arguments.tick_rate,
        rules: data::rules(&arguments.rules)?,
        maps,
        suites: if arguments.bot.is_some() { vec![Suite::Own] } else { arguments.suite.to_vec() },
        bot: arguments.bot,
        pairs: arguments.pairs,
    })
}

/// Speed at which the matches were played.
struct Pace {
    seconds: f64,
    matches_per_s: f64,
    x_real_time: f64,
}

impl Pace {
    fn new(report: &BalanceReport, rate: TickRate, seconds: f64) -> Self {
        let per_s = |count: f64| if seconds > 0.0 { count / seconds } else { 0.0 };
        Self {
            seconds,
            matches_per_s: per_s(report.matches as f64),
            x_real_time: per_s(report.ticks as f64 / f64::from(rate.hz())),
        }
    }
}

fn as_json(options: &BalanceOptions, report: &BalanceReport, pace: &Pace) -> Value {
    let figure = |figure: &Figure| {
        let mut value = serde_json::to_value(figure).expect("plain data");
        value["verdict"] = json!(figure.verdict());
        value
    };
    json!({
        "verdict": verdict(report),
        "figures": report.figures.iter().map(figure).collect::<Vec<_>>(),
        "lines": report.lines,
        "matches": report.matches,
        "ticks": report.ticks,
        "bot": options.bot.map(|_| report.bot),
        "tick_rate": options.tick_rate.hz(),
        "rules": options.rules.name,
        "seed": options.seed,
        "seconds": pace.seconds,
        "matches_per_s": pace.matches_per_s,
        "x_real_time": pace.x_real_time,
    })
}

fn table(report: &BalanceReport) -> Table {
    let mut table =
        console::table(["suite", "map", "line", "figure", "matches", "value", "95 % interval", "band", ""]);
    for figure in &report.figures {
        let show = |value: f64| show(figure.unit, value);
        let range = |range: Option<[f64; 2]>| {
            range.map_or_else(String::new, |[low, high]| format!("{} to {}", show(low), show(high)))
        };
        table.add_row([
            figure.suite.as_str().to_owned(),
            figure.map.clone(),
            figure.line.clone(),
            figure.name.clone(),
            figure.matches.to_string(),
            figure.estimate.value.map_or_else(|| "none".into(), show),
            range(figure.estimate.interval),
            range(figure.band),
            figure.verdict().map_or("", Verdict::as_str).to_owned(),
        ]);
    }
    for column in [4, 5, 6, 7] {
        let column = table.column_mut(column).expect("there are nine");
        column.set_cell_alignment(CellAlignment::Right);
    }
    table
}

fn show(unit: Unit, value: f64) -> String {
    match unit {
        Unit::Share => format!("{:.1} %", 100.0 * value),
        Unit::Seconds => {
            let tenths = (10.0 * value).round() as i64;
            format!("{}:{:02}.{}", tenths / 600, tenths / 10 % 60, tenths % 10)
        }
        Unit::Count => format!("{value:.2}"),
    }
}

fn summary(report: &BalanceReport, pace: &Pace) -> String {
    let count = |verdict| report.figures.iter().filter(|figure| figure.verdict() == Some(verdict)).count();
    format!(
        "{}: {} figures hold, {} need more matches, {} fail\n{} matches in {:.1} s: {:.1} matches/s, {:.0} x real time",
        verdict(report).as_str(),
        count(Verdict::Holds),
        count(Verdict::Open),
        count(Verdict::Fails),
        report.matches,
        pace.seconds,
        pace.matches_per_s,
        pace.x_real_time
    )
}

/// Returns what came of the decisions of the own bot, if one played.
fn bot_line(options: &BalanceOptions, report: &BalanceReport) -> String {
    let PlayerCounts { thinks, late, invalid, refused } = report.bot;
    options.bot.map_or_else(String::new, |_| {
        format!("\nbot: {thinks} thinks, {late} late, {invalid} invalid; {refused} commands refused")
    })
}

/// Returns the worst verdict.
fn verdict(report: &BalanceReport) -> Verdict {
    let has = |verdict| report.figures.iter().any(|figure| figure.verdict() == Some(verdict));
    match () {
        () if has(Verdict::Fails) => Verdict::Fails,
        () if has(Verdict::Open) => Verdict::Open,
        () => Verdict::Holds,
    }
}
