//! The attributes' options: which exist, how each is written, and which values make sense.

use std::collections::BTreeMap;

use syn::{Expr, ExprLit, ExprUnary, Lit, UnOp};

use crate::duration;
use crate::errors::Errors;
use crate::model::{Kind, Options, Retry};
use crate::parse::{OptionSyntax, OptionValue};

/// Longest name, in bytes: `durable_core::limits::NAME_MAX_BYTES`.
const NAME_MAX_BYTES: usize = 255;
/// The first retry delay where none is given, as `RetryPolicy` has it.
const RETRY_INITIAL_DEFAULT_US: u64 = 1_000_000;

/// An option's name, and how it is written.
type Known = (&'static str, &'static str);

const NAME: Known = ("name", "name = \"…\"");
const WORKFLOW: &[Known] = &[NAME];
const ACTIVITY: &[Known] = &[
    NAME,
    ("start_to_close", "start_to_close = \"10s\""),
    ("schedule_to_close", "schedule_to_close = \"1h\""),
    ("retry", "retry(max_attempts = 5, initial = \"200ms\")"),
];
const RETRY: &[Known] = &[
    ("initial", "initial = \"200ms\""),
    ("max", "max = \"1m\""),
    ("coefficient", "coefficient = 2.0"),
    ("max_attempts", "max_attempts = 5"),
    ("jitter", "jitter = 0.1"),
];

/// Reads the options of `kind`; a bad one is reported and left at its default.
pub(crate) fn read(kind: Kind, list: Vec<OptionSyntax>, errors: &mut Errors) -> Options {
    let known = match kind {
        Kind::Workflow => WORKFLOW,
        Kind::Activity => ACTIVITY,
    };
    let given = Given::new(kind.attribute(), known, list, errors);
    let mut options = Options {
        name: given.name(errors),
        start_to_close_us: given.duration("start_to_close", errors).map(|(us, _)| us),
        schedule_to_close_us: given.duration("schedule_to_close", errors).map(|(us, _)| us),
        retry: Retry::default(),
    };
    for (name, limit) in [
        ("start_to_close", &mut options.start_to_close_us),
        ("schedule_to_close", &mut options.schedule_to_close_us),
    ] {
        if *limit == Some(0) {
            if let Some(value) = given.value(name) {
                errors.on(
                    value,
                    format!(
                        "`{name}` is 0: every attempt would time out at once; write a \
                    longer duration or leave it out"
                    ),
                );
            }
            *limit = None;
        }
    }
    if let Some(retry) = given.into_list("retry", errors) {
        options.retry = read_retry(retry, errors);
    }
    options
}

fn read_retry(list: Vec<OptionSyntax>, errors: &mut Errors) -> Retry {
    let given = Given::new("retry(..)", RETRY, list, errors);
    let initial = given.duration("initial", errors);
    let max = given.duration("max", errors);
    let mut retry = Retry {
        initial_us: initial.as_ref().map(|(us, _)| *us),
        max_us: max.as_ref().map(|(us, _)| *us),
        coefficient: given.number("coefficient", errors),
        max_attempts: given.integer("max_attempts", errors),
        jitter: given.number("jitter", errors),
    };
    if let Some((max_us, max_expr)) = max
        && retry.initial_us.unwrap_or(RETRY_INITIAL_DEFAULT_US) > max_us
    {
        retry.max_us = None;
        match initial {
            Some((_, initial_expr)) => {
                errors.on(
                    initial_expr,
                    "the first retry delay `initial` is longer than the longest, \
                    `max`; raise `max` or lower `initial`",
                );
            }
            None => errors.on(
                max_expr,
                "`max` is shorter than the first retry delay, 1 s where \
                `initial` is not given; raise `max` or set `initial`",
            ),
        }
    }
    if retry.max_attempts == Some(0) {
        retry.max_attempts = None;
        given.refuse(
            "max_attempts",
            "`max_attempts` is 0: the activity would never run; use 1 for a single attempt",
            errors,
        );
    }
    if retry.coefficient.is_some_and(|coefficient| !coefficient.is_finite() || coefficient < 1.0) {
        retry.coefficient = None;
        given.refuse(
            "coefficient",
            "`coefficient` must be a finite number of at least 1, or retry delays would shrink",
            errors,
        );
    }
    if retry.jitter.is_some_and(|jitter| !(0.0..=1.0).contains(&jitter)) {
        retry.jitter = None;
        given.refuse(
            "jitter",
            "`jitter` must be between 0 and 1: the share of each delay that is spread at random",
            errors,
        );
    }
    retry
}

/// The options that were given, each known and given once.
struct Given {
    known: &'static [Known],
    values: BTreeMap<&'static str, OptionSyntax>,
}

impl Given {
    fn new(scope: &str, known: &'static [Known], list: Vec<OptionSyntax>, errors: &mut Errors) -> Self {
        let mut values = BTreeMap::new();
        for option in list {
            let name = option.name.to_string();
            let Some((name, _)) = known.iter().find(|(known, _)| *known == name) else {
                let names: Vec<_> = known.iter().map(|(name, _)| format!("`{name}`")).collect();
                errors
                    .on(&option, format!("`{scope}` has no option `{name}`; it knows {}", names.join(", ")));
                continue;
            };
            if values.contains_key(name) {
                errors.on(&option, format!("the option `{name}` is given twice; remove one"));
                continue;
            }
            values.insert(*name, option);
        }
        Self { known, values }
    }

    fn form(&self, name: &str) -> &'static str {
        self.known.iter().find(|(known, _)| *known == name).map_or("", |(_, form)| form)
    }

    fn value(&self, name: &str) -> Option<&Expr> {
        match &self.values.get(name)?.value {
            OptionValue::Assign(value) => Some(value),
            OptionValue::Flag | OptionValue::List(_) => None,
        }
    }

    fn refuse(&self, name: &str, message: &str, errors: &mut Errors) {
        if let Some(value) = self.value(name) {
            errors.on(value, message);
        }
    }

    /// The value of `name = value`; another shape is reported.
    fn assigned(&self, name: &str, errors: &mut Errors) -> Option<&Expr> {
        let option = self.values.get(name)?;
        if self.value(name).is_none() {
            errors.on(option, format!("`{name}` needs a value; write `{}`", self.form(name)));
        }
        self.value(name)
    }

    fn into_list(mut self, name: &str, errors: &mut Errors) -> Option<Vec<OptionSyntax>> {
        let form = self.form(name);
        let option = self.values.remove(name)?;
        match option.value {
            OptionValue::List(list) => Some(list),
            OptionValue::Flag | OptionValue::Assign(_) => {
                errors.on(&option.name, format!("`{name}` takes a list; write `{form}`"));
                None
            }
        }
    }

    fn duration(&self, name: &str, errors: &mut Errors) -> Option<(u64, &Expr)> {
        let value = self.assigned(name, errors)?;
        let Some(text) = string(value) else {
            errors.on(value, format!("`{name}` takes a duration in quotes; write `{}`", self.form(name)));
            return None;
        };
        match duration::parse_us(&text) {
            Ok(us) => Some((us, value)),
            Err(message) => {
                errors.on(value, message);
                None
            }
        }
    }

    fn number(&self, name: &str, errors: &mut Errors) -> Option<f64> {
        let value = self.assigned(name, errors)?;
        let number = number(value);
        if number.is_none() {
            errors.on(value, format!("`{name}` takes a number; write `{}`", self.form(name)));
        }
        number
    }

    fn integer(&self, name: &str, errors: &mut Errors) -> Option<u32> {
        let value = self.assigned(name, errors)?;
        let number = match unwrapped(value) {
            Expr::Lit(ExprLit { lit: Lit::Int(lit), .. }) => lit.base10_parse().ok(),
            _ => None,
        };
        if number.is_none() {
            errors.on(
                value,
                format!("`{name}` takes a whole number of at most {}; write `{}`", u32::MAX, self.form(name)),
            );
        }
        number
    }

    fn name(&self, errors: &mut Errors) -> Option<String> {
        let value = self.assigned("name", errors)?;
        let Some(name) = string(value) else {
            errors.on(value, format!("`name` takes a text; write `{}`", NAME.1));
            return None;
        };
        if let Err(message) = check_name(&name) {
            errors.on(value, message);
            return None;
        }
        Some(name)
    }
}

/// The rules for a registered name.
pub(crate) fn check_name(name: &str) -> Result<(), String> {
    if name.is_empty() {
        return Err("the name is empty; leave `name` out to register under the fn's name".to_owned());
    }
    if name.len() > NAME_MAX_BYTES {
        return Err(format!("the name has {} bytes, the limit is {NAME_MAX_BYTES}", name.len()));
    }
    if name.contains('\0') {
        return Err("the name contains a NUL character, which databases cannot store".to_owned());
    }
    Ok(())
}

/// The value without parentheses and the invisible group around what a `macro_rules!` passed in.
fn unwrapped(expr: &Expr) -> &Expr {
    match expr {
        Expr::Group(group) => unwrapped(&group.expr),
        Expr::Paren(paren) => unwrapped(&paren.expr),
        expr => expr,
    }
}

fn string(expr: &Expr) -> Option<String> {
    match unwrapped(expr) {
        Expr::Lit(ExprLit { lit: Lit::Str(lit), .. }) => Some(lit.value()),
        _ => None,
    }
}

fn number(expr: &Expr) -> Option<f64> {
    match unwrapped(expr) {
        Expr::Lit(ExprLit { lit: Lit::Int(lit), .. }) => lit.base10_digits().parse().ok(),
        Expr::Lit(ExprLit { lit: Lit::Float(lit), .. }) => lit.base10_parse().ok(),
        Expr::Unary(ExprUnary { op: UnOp::Neg(_), expr, .. }) => number(expr).map(|number| -number),
        _ => None,
    }
}
