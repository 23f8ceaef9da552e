//! Room `front/horn`: the functions of SMT-LIB that are read, as terms.

use super::parse::{Parser, syntax};
use super::sexp::NodeId;
use super::term::{Fun, TermId};
use super::vectors;
use crate::diagnostic::{Code, Diagnostic};
use postbop_ir::types::MAX_WIDTH;
use postbop_ir::{Span, Type};

type Read<T> = Result<T, Box<Diagnostic>>;

/// Something that SMT-LIB has and we do not read.
pub fn out_of_fragment(span: Span, what: impl std::fmt::Display) -> Box<Diagnostic> {
    let message = format!("{what} is not read");
    let hint = "Booleans, bit-vectors of up to 63 bits and linear integers are";
    Box::new(Diagnostic::new(Code::OutsideFragment, span, message).hint(hint))
}

fn mismatch<T>(span: Span, message: impl Into<String>) -> Read<T> {
    Err(Box::new(Diagnostic::new(Code::TypeMismatch, span, message)))
}

/// The type that all operands have, which are of one kind.
fn common(parser: &Parser, span: Span, name: &str, operands: &[TermId]) -> Read<Type> {
    let Some(&first) = operands.first() else { return syntax(span, format!("`{name}` has no operands")) };
    let ty = parser.terms.ty(first);
    match operands.iter().all(|&operand| parser.terms.ty(operand) == ty) {
        true => Ok(ty),
        false => mismatch(span, format!("the operands of `{name}` have different sorts")),
    }
}

/// What a function wants its operands to be.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Want {
    Bools,
    Ints,
    Vectors,
    Equal,
}

/// A function by its name.
pub fn named(parser: &mut Parser, id: NodeId, name: &str, operands: Vec<TermId>) -> Read<TermId> {
    let span = parser.tree.span(id);
    if operands.is_empty() {
        return match name {
            "true" => Ok(parser.terms.truth(true)),
            "false" => Ok(parser.terms.truth(false)),
            _ => Err(unknown(span, name)),
        };
    }
    let want = match name {
        "not" | "and" | "or" | "xor" | "=>" => Want::Bools,
        "+" | "-" | "*" | "<" | "<=" | ">" | ">=" | "div" | "mod" | "abs" => Want::Ints,
        "=" | "distinct" | "ite" => Want::Equal,
        name if name.starts_with("bv") || name == "concat" => Want::Vectors,
        _ => return Err(unknown(span, name)),
    };
    let same = if name == "ite" { operands.get(1..).unwrap_or_default() } else { &operands };
    let concat = name == "concat";
    let ty = if concat { parser.terms.ty(operands[0]) } else { common(parser, span, name, same)? };
    let fits = match want {
        Want::Bools => ty == Type::Bool,
        Want::Ints => ty == Type::Integer,
        Want::Vectors => matches!(ty, Type::Uint(_)),
        Want::Equal => true,
    };
    if !fits {
        return mismatch(span, format!("`{name}` is not for operands of this sort"));
    }
    match want {
        Want::Bools => boolean(parser, span, name, operands),
        Want::Ints => integer(parser, span, name, operands),
        Want::Vectors => vector(parser, span, name, operands, ty),
        Want::Equal => equal(parser, span, name, operands, ty),
    }
}

fn unknown(span: Span, name: &str) -> Box<Diagnostic> {
    let theirs =
        ["select", "store", "/", "to_real", "to_int", "is_int", "divisible", "str.", "fp.", "match", "as"];
    match theirs.iter().any(|known| name == *known || known.ends_with('.') && name.starts_with(known)) {
        true => out_of_fragment(span, format!("`{name}`")),
        false => {
            let message = format!("there is no variable, relation, definition or function `{name}`");
            let diagnostic = Diagnostic::new(Code::UnknownRelation, span, message);
            let digits = name.strip_prefix('-').filter(|digits| digits.parse::<u64>().is_ok());
            Box::new(match digits {
                Some(digits) => diagnostic.hint(format!("a negative number is written `(- {digits})`")),
                None => diagnostic,
            })
        }
    }
}

fn count<const N: usize>(span: Span, name: &str, operands: &[TermId]) -> Read<[TermId; N]> {
    let found = operands.len();
    operands.try_into().or_else(|_| syntax(span, format!("`{name}` takes {N} operands, not {found}")))
}

fn boolean(parser: &mut Parser, span: Span, name: &str, operands: Vec<TermId>) -> Read<TermId> {
    let terms = &mut parser.terms;
    Ok(match name {
        "not" => {
            let [operand] = count(span, name, &operands)?;
            terms.not(operand)
        }
        "and" => terms.apply(Fun::And, operands, Type::Bool),
        "or" => terms.apply(Fun::Or, operands, Type::Bool),
        "xor" if operands.len() < 2 => return syntax(span, format!("`{name}` takes two operands or more")),
        "xor" => {
            let (first, others) = operands.split_first().expect("there are operands");
            others.iter().fold(*first, |so_far, &next| terms.apply(Fun::Xor, vec![so_far, next], Type::Bool))
        }
        _ => {
            // `(=> a b c)` is a implies (b implies c): not a, or not b, or c.
            let (last, before) = operands.split_last().expect("there are operands");
            let mut all: Vec<TermId> = before.iter().map(|&premise| terms.not(premise)).collect();
            all.push(*last);
            terms.apply(Fun::Or, all, Type::Bool)
        }
    })
}

fn equal(parser: &mut Parser, span: Span, name: &str, operands: Vec<TermId>, ty: Type) -> Read<TermId> {
    if name == "ite" {
        let [condition, then, other] = count(span, name, &operands)?;
        if parser.terms.ty(condition) != Type::Bool {
            return mismatch(span, "the condition of `ite` is not a formula");
        }
        return Ok(parser.terms.apply(Fun::Ite, vec![condition, then, other], ty));
    }
    if operands.len() < 2 {
        return syntax(span, format!("`{name}` takes two operands or more"));
    }
    let terms = &mut parser.terms;
    let all: Vec<TermId> = match name {
        "=" => operands.windows(2).map(|two| terms.apply(Fun::Eq, two.to_vec(), Type::Bool)).collect(),
        _ => {
            let mut all = Vec::new();
            for (at, &one) in operands.iter().enumerate() {
                for &other in &operands[at + 1..] {
                    let same = terms.apply(Fun::Eq, vec![one, other], Type::Bool);
                    all.push(terms.not(same));
                }
                if all.len() > 1_000_000 {
                    let message = "`distinct` has too many operands";
                    return Err(Box::new(Diagnostic::new(Code::TooMany, span, message)));
                }
            }
            all
        }
    };
    Ok(terms.apply(Fun::And, all, Type::Bool))
}

/// A chain of comparisons, such as `(< a b c)`.
fn compare(parser: &mut Parser, operands: &[TermId], fun: Fun, swap: bool) -> TermId {
    let terms = &mut parser.terms;
    let pairs: Vec<TermId> = operands
        .windows(2)
        .map(|two| {
            let two = if swap { vec![two[1], two[0]] } else { two.to_vec() };
            terms.apply(fun, two, Type::Bool)
        })
        .collect();
    terms.apply(Fun::And, pairs, Type::Bool)
}

fn fold(parser: &mut Parser, fun: Fun, operands: Vec<TermId>, ty: Type) -> TermId {
    let mut operands = operands.into_iter();
    let first = operands.next().expect("there are operands");
    operands.fold(first, |sum, next| parser.terms.apply(fun, vec![sum, next], ty))
}

fn integer(parser: &mut Parser, span: Span, name: &str, operands: Vec<TermId>) -> Read<TermId> {
    let ty = Type::Integer;
    Ok(match name {
        "<" => compare(parser, &operands, Fun::Lt, false),
        "<=" => compare(parser, &operands, Fun::Le, false),
        ">" => compare(parser, &operands, Fun::Lt, true),
        ">=" => compare(parser, &operands, Fun::Le, true),
        "+" => fold(parser, Fun::Add, operands, ty),
        "-" if operands.len() == 1 => parser.terms.apply(Fun::Neg, operands, ty),
        "-" => fold(parser, Fun::Sub, operands, ty),
        "*" => {
            let open = operands.iter().filter(|&&operand| parser.terms.constant(operand).is_none()).count();
            if open > 1 {
                let message = "a product of two integers that are not constants";
                return Err(Box::new(Diagnostic::new(Code::Nonlinear, span, message)));
            }
            fold(parser, Fun::Mul, operands, ty)
        }
        "abs" => {
            let [operand] = count(span, name, &operands)?;
            let zero = parser.terms.number(ty, 0);
            let negative = parser.terms.apply(Fun::Lt, vec![operand, zero], Type::Bool);
            let other = parser.terms.apply(Fun::Neg, vec![operand], ty);
            parser.terms.apply(Fun::Ite, vec![negative, other, operand], ty)
        }
        _ => {
            let [dividend, divisor] = count(span, name, &operands)?;
            let by = parser.terms.constant(divisor).filter(|&by| by != 0 && by != i64::MIN);
            let Some(by) = by else {
                return Err(out_of_fragment(
                    span,
                    format!("`{name}` by anything but a constant other than 0"),
                ));
            };
            // The remainder is never negative: by -3 it is the same as by 3, and the quotient is the opposite.
            let positive = parser.terms.number(ty, by.abs());
            let fun = if name == "div" { Fun::Div } else { Fun::Mod };
            let value = parser.terms.apply(fun, vec![dividend, positive], ty);
            match fun == Fun::Div && by < 0 {
                true => parser.terms.apply(Fun::Neg, vec![value], ty),
                false => value,
            }
        }
    })
}

fn vector(parser: &mut Parser, span: Span, name: &str, operands: Vec<TermId>, ty: Type) -> Read<TermId> {
    let bits = ty.bits().unwrap_or(1);
    let sign = parser.terms.number(ty, 1 << (bits - 1));
    // With half the range added, signed numbers are in the order of unsigned ones.
    let shifted = |parser: &mut Parser, operands: &[TermId]| -> Vec<TermId> {
        operands.iter().map(|&operand| parser.terms.apply(Fun::Add, vec![operand, sign], ty)).collect()
    };
    let comparison = match name {
        "bvult" | "bvslt" => Some((Fun::Lt, false)),
        "bvule" | "bvsle" => Some((Fun::Le, false)),
        "bvugt" | "bvsgt" => Some((Fun::Lt, true)),
        "bvuge" | "bvsge" => Some((Fun::Le, true)),
        _ => None,
    };
    if let Some((fun, swap)) = comparison {
        let two: [TermId; 2] = count(span, name, &operands)?;
        let two = if name.starts_with("bvs") { shifted(parser, &two) } else { two.to_vec() };
        return Ok(compare(parser, &two, fun, swap));
    }
    let arithmetic = match name {
        "bvadd" => Some(Fun::Add),
        "bvmul" => Some(Fun::Mul),
        "bvsub" => Some(Fun::Sub),
        "bvand" => Some(Fun::BitAnd),
        "bvor" => Some(Fun::BitOr),
        "bvxor" => Some(Fun::BitXor),
        _ => None,
    };
    if let Some(fun) = arithmetic {
        return Ok(fold(parser, fun, operands, ty));
    }
    Ok(match name {
        "bvneg" => {
            let [operand] = count(span, name, &operands)?;
            parser.terms.apply(Fun::Neg, vec![operand], ty)
        }
        "bvnot" => {
            let [operand] = count(span, name, &operands)?;
            vectors::complement(&mut parser.terms, operand)
        }
        "bvnand" | "bvnor" | "bvxnor" | "bvcomp" | "bvudiv" | "bvurem" | "bvsdiv" | "bvsrem" | "bvsmod" => {
            vectors::of_two(&mut parser.terms, name, count(span, name, &operands)?)
        }
        "concat" => {
            let mut operands = operands.into_iter();
            let first = operands.next().expect("there are operands");
            operands.try_fold(first, |all, next| concat(parser, span, all, next))?
        }
        "bvshl" | "bvlshr" | "bvashr" => {
            let [operand, by] = count(span, name, &operands)?;
            let fun = match name {
                "bvshl" => Fun::Shl,
                "bvlshr" => Fun::Lshr,
                _ => Fun::Ashr,
            };
            match parser.terms.constant(by) {
                Some(by) => parser.terms.apply(fun(by.min(bits.into()) as u8), vec![operand], ty),
                None => vectors::shifted(&mut parser.terms, fun, operand, by),
            }
        }
        _ => return Err(out_of_fragment(span, format!("`{name}`"))),
    })
}

fn width(bits: u64, span: Span) -> Read<Type> {
    match bits <= u64::from(MAX_WIDTH) {
        true => Ok(Type::Uint(bits as u8)),
        false => {
            let message = format!("a bit-vector of {bits} bits: there are at most {MAX_WIDTH}");
            Err(Box::new(Diagnostic::new(Code::BadSize, span, message)))
        }
    }
}

fn concat(parser: &mut Parser, span: Span, high: TermId, low: TermId) -> Read<TermId> {
    match (parser.terms.ty(high), parser.terms.ty(low)) {
        (Type::Uint(one), Type::Uint(other)) => {
            let ty = width(u64::from(one) + u64::from(other), span)?;
            Ok(parser.terms.apply(Fun::Concat, vec![high, low], ty))
        }
        _ => mismatch(span, "`concat` is for bit-vectors"),
    }
}

/// A constant such as `(_ bv5 8)`.
pub fn indexed_constant(parser: &mut Parser, id: NodeId, items: &[NodeId]) -> Read<TermId> {
    let span = parser.tree.span(id);
    if let &[_, number, bits] = items
        && let Some(digits) = parser.tree.symbol(number).and_then(|name| name.strip_prefix("bv"))
        && let Ok(number) = digits.parse::<u64>()
        && let Ok(bits) = parser.tree.text(bits).parse::<u64>()
    {
        let ty = width(bits.max(1), span)?;
        let value = ty.wrap(number.into()).expect("a vector has all its numbers");
        return Ok(parser.terms.number(ty, value.get()));
    }
    Err(out_of_fragment(span, format!("`{}`", parser.tree.text(id))))
}

/// A function with indices, such as `((_ extract 3 0) x)`.
pub fn indexed(parser: &mut Parser, id: NodeId, index: &[NodeId], operands: Vec<TermId>) -> Read<TermId> {
    let span = parser.tree.span(id);
    let numbers: Option<Vec<u64>> =
        index.iter().skip(2).map(|&number| parser.tree.text(number).parse::<u64>().ok()).collect();
    let name = index.get(1).and_then(|&name| parser.tree.symbol(name));
    let (Some(name), Some(numbers)) = (name.filter(|_| parser.tree.is(index[0], "_")), numbers) else {
        return syntax(span, "a function was expected");
    };
    let &[operand] = &operands[..] else { return syntax(span, format!("`{name}` takes 1 operand")) };
    let Type::Uint(bits) = parser.terms.ty(operand) else {
        return match name {
            "extract" | "zero_extend" | "sign_extend" | "rotate_left" | "rotate_right" | "repeat" => {
                mismatch(span, format!("`{name}` is for bit-vectors"))
            }
            _ => Err(out_of_fragment(span, format!("`(_ {name} …)`"))),
        };
    };
    let bits = u64::from(bits);
    let (fun, ty) = match (name, &numbers[..]) {
        ("extract", &[high, low]) if low <= high && high < bits => {
            (Fun::Extract(high as u8, low as u8), width(high - low + 1, span)?)
        }
        ("extract", _) => return mismatch(span, format!("a vector of {bits} bits has no such bits")),
        ("zero_extend", &[by]) => (Fun::ZeroExtend, width(bits.saturating_add(by), span)?),
        ("sign_extend", &[by]) => (Fun::SignExtend, width(bits.saturating_add(by), span)?),
        ("rotate_left", &[by]) => return Ok(vectors::rotated_left(&mut parser.terms, operand, by)),
        ("rotate_right", &[by]) => {
            let left = bits - by % bits;
            return Ok(vectors::rotated_left(&mut parser.terms, operand, left));
        }
        ("repeat", &[times]) if times > 0 => {
            width(bits.saturating_mul(times), span)?;
            return (1..times).try_fold(operand, |all, _| concat(parser, span, all, operand));
        }
        _ => return Err(out_of_fragment(span, format!("`(_ {name} …)`"))),
    };
    Ok(parser.terms.apply(fun, vec![operand], ty))
}
