//! Room `xtask`: summaries of the procedures of random programs against the oracle.
//!
//! # Idea
//!
//! Around a procedure goes a program that calls it with every input, keeps the input in variables of its own, and has for every pair of an input and an
//! output a location that is reached if the call can return with this output for this input. Which of them are reached, the naive oracle says; the
//! constraints of the summary must be true of exactly these pairs, and those of the inputs for which it returns, of their inputs.
//!
//! Unbounded integers are confined to small values, as in [`super::ranged`].

use super::ranged::{MOST, bits, ranged};
use super::{Finding, ORACLE_LIMIT, Score};
use postbop_engine::weighted::{Compare, Constraint, Described, Extent, summary};
use postbop_engine::{Budget, Why, has_integers};
use postbop_ir::oracle::oracle;
use postbop_ir::{Action, Builder, Expr, LocId, Op, ProcId, Program, Span, Type, Value, VarId};
use std::time::Duration;

/// More pairs of inputs and outputs than these are not looked at one by one.
const PAIRS: usize = 1 << 10;

/// Compares the summaries of all procedures that can be called.
pub fn examine(program: &Program, patience: Duration) -> Finding {
    let (asked, decided) = match has_integers(program) {
        false => (program.clone(), program.clone()),
        true => match bits(program, 5) {
            Some(bits) => (ranged(program, Type::Integer), ranged(program, Type::Int(bits))),
            None => return Finding::Agreed(Score::default()),
        },
    };
    let mut score = Score::default();
    for (proc, data) in program.procs().pairs().filter(|(id, _)| *id != program.main()) {
        let budget = Budget::unlimited().with_time(patience);
        let Some((pairs, reached)) = pairs(program, &decided, proc) else { continue };
        let found = match summary(&asked, proc, &budget) {
            Ok(found) => found,
            Err(Why::Time(_)) => {
                score.note("summaries", 0, 1);
                continue;
            }
            Err(why) => return Finding::Wrong(format!("summary of {}: {why}", data.name)),
        };
        let (Some(cases), Some(returns)) = (&found.relation.cases, &found.returns.cases) else {
            score.note("summaries", 0, 1);
            continue;
        };
        score.note("summaries", 1, 0);
        for (at, pair) in pairs.iter().enumerate() {
            let keeps = |name: &str| found.outputs.iter().any(|output| output == name);
            let unchanged = pair.kept.iter().all(|(name, same)| *same || keeps(name));
            let said = unchanged && has(cases, &found.relation, pair);
            let returned = has(returns, &found.returns, pair);
            let is_wrong = match found.extent {
                Extent::Exact => said != reached[at],
                Extent::AtMost => reached[at] && !said,
                Extent::AtLeast(_) => said && !reached[at],
            };
            let exists =
                || pairs.iter().zip(&reached).any(|(other, reached)| *reached && other.input == pair.input);
            let is_wrong = is_wrong || found.extent == Extent::Exact && returned != exists();
            if is_wrong {
                let (name, oracle) = (&data.name, reached[at]);
                let what = format!("{:?}: {said}, returns {returned}, the oracle says {oracle}", pair.values);
                return Finding::Wrong(format!("summary of {name}: {what}"));
            }
            *(if reached[at] { &mut score.reachable } else { &mut score.unreachable }) += 1;
        }
    }
    Finding::Agreed(score)
}

/// Whether a pair satisfies one of several conjunctions.
fn has(cases: &[Vec<Constraint>], set: &Described, pair: &Pair) -> bool {
    let value = |at: u32| pair.values.iter().find(|(name, _)| *name == set.names[at as usize]);
    let holds = |constraint: &Constraint| {
        let terms = constraint.terms.iter();
        let sum: i64 = terms.map(|&(factor, at)| factor * value(at).map_or(0, |(_, value)| *value)).sum();
        match constraint.compare {
            Compare::AtMost(most) => sum <= most,
            Compare::Equal(value) => sum == value,
            Compare::Congruent(rest, modulus) => (sum - rest).rem_euclid(modulus) == 0,
        }
    };
    cases.iter().any(|case| case.iter().all(holds))
}

/// An input and an output.
struct Pair {
    /// The values of the inputs alone.
    input: Vec<i64>,
    /// All values, by the names that summaries give them.
    values: Vec<(String, i64)>,
    /// For each global the name of its output, and whether it has the value that it had.
    kept: Vec<(String, bool)>,
}

/// All pairs of inputs and outputs of a procedure, and which of them the oracle reaches; none if they are too many. Types are those of `program`, and
/// the oracle is asked about `decided`.
fn pairs(program: &Program, decided: &Program, proc: ProcId) -> Option<(Vec<Pair>, Vec<bool>)> {
    let data = &program.procs()[proc];
    let globals: Vec<VarId> = program.globals().collect();
    let types = |vars: &[VarId]| -> Vec<Type> { vars.iter().map(|&var| program.vars()[var].ty).collect() };
    // A result is any value that fits: it is confined where the caller stores it.
    let results = decided.procs()[proc].results.clone();
    let all = [types(data.params()), types(&globals), results, types(&globals)].concat();
    let vectors = vectors(&all)?;
    let mut wrapped = Wrapped::new(decided, proc);
    let targets: Vec<LocId> = vectors.iter().map(|vector| wrapped.target(vector)).collect();
    let wrapped = wrapped.builder.finish(wrapped.main);
    let locs: Vec<&[LocId]> = targets.iter().map(std::slice::from_ref).collect();
    let reached = oracle(&wrapped, &locs, ORACLE_LIMIT).ok()?;
    let name = |var: VarId| program.vars()[var].name.clone();
    let pair = |vector: Vec<i64>| {
        let params = data.params().iter().chain(&globals).map(|&var| name(var));
        let results = (0..data.results.len()).map(|at| match data.results.len() {
            1 => "result".to_owned(),
            _ => format!("result{}", at + 1),
        });
        let names = params.chain(results).chain(globals.iter().map(|&var| format!("{}'", name(var))));
        let count = globals.len();
        let (old, new) = (&vector[data.params..data.params + count], &vector[vector.len() - count..]);
        let kept = old.iter().zip(new).zip(&globals);
        let kept = kept.map(|((old, new), &var)| (format!("{}'", name(var)), old == new)).collect();
        let input = vector[..data.params + count].to_vec();
        Pair { input, values: names.zip(vector.iter().copied()).collect(), kept }
    };
    Some((vectors.into_iter().map(pair).collect(), reached.iter().map(Option::is_some).collect()))
}

/// All vectors of values of some types, where integers are small; none if they are too many.
fn vectors(types: &[Type]) -> Option<Vec<Vec<i64>>> {
    let mut all = vec![Vec::new()];
    for &ty in types {
        let values: Vec<i64> = match ty {
            Type::Integer => (-MOST..=MOST).collect(),
            _ => ty.values().map(Value::get).collect(),
        };
        let longer = |vector: &Vec<i64>| -> Vec<Vec<i64>> {
            values.iter().map(|&value| [&vector[..], &[value]].concat()).collect()
        };
        all = all.iter().flat_map(longer).collect();
        if all.len() > PAIRS {
            return None;
        }
    }
    Some(all)
}

/// A program around a procedure.
struct Wrapped {
    builder: Builder,
    main: ProcId,
    /// The copies of the inputs, then the results, then the globals.
    vars: Vec<VarId>,
    types: Vec<Type>,
    /// Where the call has returned.
    back: LocId,
}

impl Wrapped {
    fn new(program: &Program, proc: ProcId) -> Self {
        let mut builder = Builder::without_edges(program);
        for edge in program.edges().iter() {
            builder.edge(edge.from, edge.to, edge.action.clone(), edge.span);
        }
        let span = Span::default();
        let main = builder.proc("around", 0, Vec::new(), span);
        let data = &program.procs()[proc];
        let globals: Vec<VarId> = program.globals().collect();
        let inputs: Vec<VarId> = data.params().iter().chain(&globals).copied().collect();
        let mut local = |ty: Type| builder.local(main, "kept", ty);
        let copies: Vec<VarId> = inputs.iter().map(|&var| local(program.vars()[var].ty)).collect();
        let results: Vec<VarId> = data.results.iter().map(|&ty| local(ty)).collect();
        let entry = builder.procs()[main].entry;
        let [ready, back] = [0, 1].map(|_| builder.loc(main, span));
        let same = copies[data.params..].iter().zip(&globals);
        let same = same.flat_map(|(&copy, &global)| [Op::Var(copy), Op::Var(global), Op::Eq, Op::And]);
        let same = [Op::Const(Type::Bool, true.into())].into_iter().chain(same).collect::<Vec<Op>>();
        builder.edge(entry, ready, Action::Assume(Expr::new(same)), span);
        let args = copies[..data.params].iter().map(|&copy| Expr::var(copy)).collect();
        let targets = results.iter().map(|&result| Some(result)).collect();
        builder.edge(ready, back, Action::Call { callee: proc, args, results: targets }, span);
        let vars = [copies, results, globals].concat();
        let types = vars.iter().map(|&var| builder.vars()[var].ty).collect();
        Wrapped { builder, main, vars, types, back }
    }

    /// A location that is reached if the call returns with these values.
    fn target(&mut self, values: &[i64]) -> LocId {
        let loc = self.builder.loc(self.main, Span::default());
        let mut code = vec![Op::Const(Type::Bool, true.into())];
        for ((&var, &ty), &value) in self.vars.iter().zip(&self.types).zip(values) {
            code.extend([Op::Var(var), Op::Const(ty, Value::new(value)), Op::Eq, Op::And]);
        }
        self.builder.edge(self.back, loc, Action::Assume(Expr::new(code)), Span::default());
        loc
    }
}
