//! Room `cli/explore`: one run, made step by step, and what can be asked about it.
//!
//! A command is a JSON object: `do` says what, and `at` at which step the page thought the run to be, so that a page that is behind does
//! nothing that its user did not see. Whatever a command came to, the answer is everything there is to see.

use crate::input::Input;
use crate::properties;
use crate::report::html::{explorer, pack};
use crate::report::words::Words;
use postbop_engine::onward::onward;
use postbop_engine::{Budget, EngineChoice, Silent, Verdict, Why, verify};
use postbop_ir::replay::changes;
use postbop_ir::walk::{Chosen, Way};
use postbop_ir::{Action, CheckKind, Prefer, Query, Task, ThreadId, Trace, Value as Number, VarId, Walk};
use serde_json::{Value, json};
use std::time::Duration;

/// Choices with at most so many outcomes are listed.
const LISTED: usize = 16;
/// The most steps that can be taken at once, and in all.
const MOST_AT_ONCE: usize = 10_000;
const LONGEST: usize = 100_000;
/// The most places that can be asked about by choosing from a list.
const MOST_TARGETS: usize = 2_000;

/// What an answer may cost.
#[derive(Clone, Copy)]
pub struct Patience<'a> {
    /// Memory, and Ctrl-C.
    pub budget: &'a Budget,
    /// Time.
    pub time: Duration,
}

/// One run of a program, and what was found out about it.
pub struct Session<'a> {
    input: &'a Input,
    words: Words<'a>,
    walk: Walk<'a>,
    patience: Patience<'a>,
    /// What can be asked about.
    targets: Vec<Query>,
    /// The answer to the last question, if a run can be followed.
    answer: Option<Trace>,
}

impl<'a> Session<'a> {
    /// A run that has not begun.
    pub fn new(input: &'a Input, patience: Patience<'a>) -> Result<Self, String> {
        let walk = Walk::new(&input.program, &[])?;
        let targets = targets(input)?;
        Ok(Session { input, words: Words::new(input), walk, patience, targets, answer: None })
    }

    /// The page.
    pub fn page(&mut self) -> String {
        let shown = self.shown(Value::Null);
        explorer(self.input, &shown)
    }

    /// Does what a command says: what there is to say about it.
    pub fn act(&mut self, command: &Value) -> Result<Value, String> {
        if command["at"].as_u64() != Some(self.walk.len() as u64) {
            return Err("another page has moved on; here is the run as it is now".into());
        }
        let number = |key: &str| command[key].as_u64().and_then(|number| usize::try_from(number).ok());
        match command["do"].as_str() {
            Some("step") => self.step(command).map(|()| Value::Null),
            Some("undo") => {
                self.walk.undo();
                Ok(Value::Null)
            }
            Some("cut") => {
                let to = number("to").filter(|to| *to <= self.walk.len()).ok_or("there is no such step")?;
                while self.walk.len() > to {
                    self.walk.undo();
                }
                Ok(Value::Null)
            }
            Some("start") => {
                self.walk = Walk::new(&self.input.program, &self.start(&command["values"])?)?;
                Ok(Value::Null)
            }
            Some("on") => self.on(),
            Some("ask") => self.ask(command["target"].as_str().unwrap_or_default()),
            Some("run") => {
                let told = self.ask(command["target"].as_str().unwrap_or_default())?;
                if self.answer.is_some() { self.follow() } else { Ok(told) }
            }
            Some("go") => self.follow(),
            _ => Err("there is no such command".into()),
        }
        .inspect(|_| {
            if !matches!(command["do"].as_str(), Some("ask")) {
                self.answer = None;
            }
        })
    }

    /// Takes the step that a command names.
    fn step(&mut self, command: &Value) -> Result<(), String> {
        if self.walk.len() >= LONGEST {
            return Err(format!("a run by hand has at most {LONGEST} steps"));
        }
        let ways = self.walk.ways(LISTED);
        let at = command["way"].as_u64().and_then(|at| usize::try_from(at).ok());
        let way = at.and_then(|at| ways.get(at)).ok_or("there is no such step")?;
        let choices = match &way.choices {
            Some(choices) => choices.clone(),
            None => numbers(&command["choices"])?,
        };
        let fresh = self.fresh(way).len();
        let locals = match &command["locals"] {
            Value::Null => vec![Number::ZERO; fresh],
            list => numbers(list)?,
        };
        self.walk.take(Chosen { thread: way.thread, edge: way.edge, choices, locals })
    }

    /// For a call: the locals of its procedure that are no parameters.
    fn fresh(&self, way: &Way) -> &'a [VarId] {
        match self.input.program.edges()[way.edge].action {
            Action::Call { callee, .. } => self.walk.fresh(callee),
            _ => &[],
        }
    }

    /// The values with which a run is to start.
    fn start(&self, values: &Value) -> Result<Vec<(VarId, Number)>, String> {
        let (vars, values) = (Walk::starting(&self.input.program), numbers(values)?);
        match vars.len() == values.len() {
            true => Ok(vars.into_iter().zip(values).collect()),
            false => Err(format!("a run starts with {} values, not {}", vars.len(), values.len())),
        }
    }

    /// Goes on as long as there is one step that can be taken, and only one.
    fn on(&mut self) -> Result<Value, String> {
        let before = self.walk.len();
        while self.walk.len() < LONGEST.min(before + MOST_AT_ONCE) {
            let ways = self.walk.ways(LISTED);
            let [Way { thread, edge, choices: Some(choices) }] = &ways[..] else { break };
            if !self.fresh(&ways[0]).is_empty() && self.walk.len() > before {
                break;
            }
            let locals = vec![Number::ZERO; self.fresh(&ways[0]).len()];
            let step = Chosen { thread: *thread, edge: *edge, choices: choices.clone(), locals };
            if self.walk.take(step).is_err() {
                break;
            }
        }
        match self.walk.len() - before {
            0 => Err("there is a choice to make, or nothing to do".into()),
            MOST_AT_ONCE => Ok(json!({ "says": format!("{MOST_AT_ONCE} steps were taken; it goes on") })),
            _ => Ok(Value::Null),
        }
    }

    /// Asks whether a place can be reached from here.
    fn ask(&mut self, target: &str) -> Result<Value, String> {
        self.answer = None;
        let query = properties::queries(self.input, &[target.to_owned()])?.remove(0);
        let onward = onward(&self.walk)?;
        if onward.is_there(&query) {
            return Ok(json!({ "target": target, "verdict": "there", "says": "yes: the run is there now" }));
        }
        let queries = [onward.query(&query)];
        let budget = self.patience.budget.clone().with_time(self.patience.time);
        let prefer = match onward.program.is_sequential() {
            true => Prefer::FewestSteps,
            false => Prefer::FewestSwitches,
        };
        let task = Task { prefer, ..Task::new(&onward.program, &queries) };
        let mut report = verify(&task, EngineChoice::Auto, &budget, &mut Silent);
        if matches!(report.answers[0].verdict, Verdict::Unknown(Why::Time(_))) {
            // A shortest run may be much harder to find than any.
            let budget = self.patience.budget.clone().with_time(self.patience.time);
            let task = Task::new(&onward.program, &queries);
            report = verify(&task, EngineChoice::Auto, &budget, &mut Silent);
        }
        let answer = report.answers.remove(0);
        let engine = answer.engine.to_string();
        match answer.verdict {
            Verdict::Violated(trace) => {
                let (trace, _) = onward.back(&trace, &query.ask).map_err(|why| why.to_string())?;
                let more = trace.length().to_string();
                self.answer = Some(trace);
                let says = "yes: there is a run from here";
                Ok(
                    json!({ "target": target, "verdict": "reachable", "says": says, "length": more, "engine": engine }),
                )
            }
            Verdict::Holds { within, .. } => {
                let says = match within.threads {
                    Some(count) => format!("no: no run from here comes there, with room for {count} threads"),
                    None => "no: no run from here comes there".to_owned(),
                };
                Ok(json!({ "target": target, "verdict": "unreachable", "says": says, "engine": engine }))
            }
            Verdict::Unknown(why) => {
                let says = format!("unknown: {why}");
                Ok(json!({ "target": target, "verdict": "unknown", "says": says, "engine": engine }))
            }
        }
    }

    /// Goes where the last answer leads.
    fn follow(&mut self) -> Result<Value, String> {
        let trace = self.answer.take().ok_or("there is no answer to follow")?;
        self.walk = Walk::along(&self.input.program, &trace, LONGEST)?;
        Ok(Value::Null)
    }

    /// Everything there is to see, with what is to be said.
    pub fn shown(&mut self, told: Value) -> Value {
        let trace = self.walk.trace();
        let mut run = Vec::new();
        let written = changes(&self.input.program, &trace).map_err(|rejected| rejected.to_string()).and_then(
            |played| {
                let written = pack::write(&mut run, &self.words, "", &trace, &played.contexts);
                written.map_err(|error| error.to_string())
            },
        );
        let told = match &written {
            Ok(()) => told,
            Err(problem) => json!({ "problem": format!("a bug in postbop: {problem}") }),
        };
        let run: Value = serde_json::from_slice(&run).unwrap_or(Value::Null);
        let ways = self.walk.ways(LISTED);
        let ways: Vec<Value> = ways.iter().map(|way| self.way(way)).collect();
        json!({
            "run": run,
            "steps": self.walk.len(),
            "ways": ways,
            "ended": self.has_ended(),
            "here": self.here(),
            "start": self.started(),
            "targets": self.targets.iter().take(MOST_TARGETS).map(|query| query.name.as_str()).collect::<Vec<_>>(),
            "told": told,
        })
    }

    fn has_ended(&self) -> bool {
        let mut threads = self.input.program.threads().ids();
        threads.all(|thread| self.walk.has_ended(Some(thread)))
    }

    /// What is special about where the run is: a label, or a check that has failed.
    fn here(&self) -> Option<String> {
        let (program, loc) = (&self.input.program, self.walk.here());
        if let Some(check) = program.checks().iter().find(|check| check.loc == loc) {
            let line = self.input.position(check.span).0;
            return Some(match check.kind {
                CheckKind::Assert => format!("the assertion in line {line} fails"),
                CheckKind::Bounds => format!("the index in line {line} is out of range"),
            });
        }
        if program.no_room().contains(&loc) {
            return Some("there is no room for another thread".into());
        }
        let labels = program.labels().iter().filter(|label| label.loc == loc);
        let names: Vec<&str> = labels.map(|label| label.name.as_str()).collect();
        (!names.is_empty()).then(|| names.join(", "))
    }

    /// The values with which the run started.
    fn started(&self) -> Vec<Value> {
        let program = &self.input.program;
        let value = |&(var, value): &(VarId, Number)| {
            let data = &program.vars()[var];
            let number = value.get().to_string();
            json!({ "name": data.name, "type": data.ty.to_string(), "value": number, "shown": !data.is_hidden() })
        };
        self.walk.initial().iter().map(value).collect()
    }

    /// A step that can be taken, as it is shown.
    fn way(&mut self, way: &Way) -> Value {
        let program = &self.input.program;
        let edge = &program.edges()[way.edge];
        let (file, line, _, _) = self.input.marked(edge.span);
        let branch = self.words.branch(way.edge);
        let field = |name: &str, ty: postbop_ir::Type| json!({ "name": name, "type": ty.to_string() });
        let locals: Vec<Value> = self
            .fresh(way)
            .iter()
            .map(|&var| &program.vars()[var])
            .map(|var| json!({ "name": var.name, "type": var.ty.to_string(), "shown": !var.is_hidden() }))
            .collect();
        let fields: Vec<Value> = match (&way.choices, &edge.action) {
            (Some(_), _) => Vec::new(),
            (None, Action::Havoc(vars)) => {
                vars.iter().map(|&var| field(&program.vars()[var].name, program.vars()[var].ty)).collect()
            }
            (None, action) => program.choices(action).map(|ty| field("*", ty)).collect(),
        };
        let chosen: Vec<String> = way.choices.iter().flatten().map(|value| value.to_string()).collect();
        json!({
            "thread": way.thread.map(|thread: ThreadId| program.threads()[thread].name.as_str()),
            "number": way.thread.map(|thread| thread.0),
            "file": file,
            "line": line,
            "text": self.input.statement(program, way.edge),
            "branch": branch.trim().trim_start_matches('[').trim_end_matches(']'),
            "chosen": chosen,
            "fields": fields,
            "locals": locals,
            "gives": self.gives(way),
        })
    }

    /// What a step would change, found out by taking it.
    fn gives(&mut self, way: &Way) -> String {
        let Some(choices) = way.choices.clone() else { return String::new() };
        let locals = vec![Number::ZERO; self.fresh(way).len()];
        let step = Chosen { thread: way.thread, edge: way.edge, choices, locals };
        let program = &self.input.program;
        let vars: Vec<VarId> = match &program.edges()[way.edge].action {
            Action::Call { callee, .. } => program.procs()[*callee].params().to_vec(),
            action => action.writes().collect(),
        };
        if let Err(problem) = self.walk.take(step) {
            return problem;
        }
        let values = vars.iter().map(|&var| (var, self.walk.value(way.thread, var)));
        let told = self.words.list(values);
        self.walk.undo();
        told
    }
}

/// What can be asked about: the properties that are checked by default, and every label.
fn targets(input: &Input) -> Result<Vec<Query>, String> {
    let mut all = properties::queries(input, &[])?;
    let mut names: Vec<String> = Vec::new();
    for label in input.program.labels() {
        if !names.contains(&label.name) && all.iter().all(|query| query.name != label.name) {
            names.push(label.name.clone());
        }
        if names.len() + all.len() >= MOST_TARGETS {
            break;
        }
    }
    if !names.is_empty() {
        all.extend(properties::queries(input, &names)?);
    }
    Ok(all)
}

/// Numbers, as text since a script would round large ones.
fn numbers(list: &Value) -> Result<Vec<Number>, String> {
    let number = |value: &Value| match value {
        Value::String(text) => text.trim().parse().ok(),
        value => value.as_i64(),
    };
    let list = list.as_array().ok_or("a list of numbers is missing")?;
    list.iter().map(|value| number(value).map(Number::new).ok_or(format!("{value} is no number"))).collect()
}
