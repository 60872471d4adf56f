//! Macros in workflow code. A proc macro sees only their tokens, so: `join!` and `try_join!` are replaced by durable's,
//! durable's `select!` is looked into and any other refused, the standard expression macros are looked into, and `.await` in any other is refused.

use proc_macro2::{TokenStream, TokenTree};
use quote::{ToTokens, quote};
use syn::parse::{ParseStream, Parser};
use syn::punctuated::Punctuated;
use syn::visit_mut::VisitMut;
use syn::{Expr, Ident, Macro, Pat, Token};

use super::{Rewriter, checked_expr};
use crate::select::Select;

/// Macros whose arguments are expressions, by their last path segment.
const EXPRESSIONS: &[&str] = &[
    "assert",
    "assert_eq",
    "assert_ne",
    "bail",
    "dbg",
    "debug_assert",
    "debug_assert_eq",
    "debug_assert_ne",
    "ensure",
    "eprint",
    "eprintln",
    "format",
    "format_args",
    "anyhow",
    "panic",
    "pin",
    "print",
    "println",
    "todo",
    "unimplemented",
    "unreachable",
    "vec",
    "write",
    "writeln",
];

/// Words for which a known macro is looked into.
const LOOK_INTO: &[&str] = &["await", "async", "join", "try_join", "select", "select_biased"];

/// Rewrites the macro's tokens where it can, or says why the macro cannot stand in a workflow.
pub(super) fn rewrite(rewriter: &mut Rewriter, mac: &mut Macro) -> syn::Result<()> {
    let Some(last) = mac.path.segments.last() else { return Ok(()) };
    let (name, span) = (last.ident.to_string(), last.ident.span());
    let rewritten = match name.as_str() {
        "select" if is_ours(&mac.path) => {
            // What is wrong with it the macro says itself.
            let Ok(mut select) = syn::parse2::<Select>(mac.tokens.clone()) else { return Ok(()) };
            mac.path = syn::parse_quote_spanned!(span=> ::durable::select);
            for branch in &mut select.branches {
                if let Some(condition) = &mut branch.condition {
                    rewriter.visit_expr_mut(condition);
                }
                rewriter.visit_expr_mut(&mut branch.future);
                let future = checked_expr(&branch.future);
                branch.future = Expr::Verbatim(future);
                rewriter.visit_expr_mut(&mut branch.handler);
            }
            if let Some((.., handler)) = &mut select.otherwise {
                rewriter.visit_expr_mut(handler);
            }
            Ok(select.to_token_stream())
        }
        "select" | "select_biased" => {
            return Err(refused(
                mac,
                &format!(
                    "`{name}!` of another crate looks at its branches in an order that cannot be replayed; in a \
                     workflow write `durable::select!`, which takes the same branches"
                ),
            ));
        }
        "join" | "try_join" => join.parse2(mac.tokens.clone()).map(|mut branches| {
            let own = Ident::new(&name, span);
            mac.path = syn::parse_quote_spanned!(span=> ::durable::#own);
            let checked = branches.iter_mut().map(|branch| {
                rewriter.visit_expr_mut(branch);
                checked_expr(branch)
            });
            quote!(#(#checked),*)
        }),
        // Nothing in it that needs a look: the macro stays exactly as written.
        _ if !mentions(&mac.tokens, LOOK_INTO) => return Ok(()),
        "matches" => matches.parse2(mac.tokens.clone()).map(|parsed| parsed.rewritten(rewriter)),
        "vec" => elements.parse2(mac.tokens.clone()).map(|parsed| parsed.rewritten(rewriter)),
        name if EXPRESSIONS.contains(&name) => expressions.parse2(mac.tokens.clone()).map(|mut list| {
            list.iter_mut().for_each(|expr| rewrite_argument(rewriter, expr));
            list.to_token_stream()
        }),
        _ => Err(syn::Error::new(span, "not known")),
    };
    match (rewritten, first_await(&mac.tokens)) {
        (Ok(tokens), _) => {
            mac.tokens = tokens;
            Ok(())
        }
        (Err(_), None) => Ok(()),
        (Err(_), Some(wait)) => Err(syn::Error::new_spanned(
            wait,
            format!(
                "`.await` inside `{name}!` cannot be checked; bind the result to a local before the macro"
            ),
        )),
    }
}

/// Whether the path says `durable::`; a bare `select!` may be anybody's.
fn is_ours(path: &syn::Path) -> bool {
    path.segments.len() == 2 && path.segments[0].ident == "durable"
}

fn refused(mac: &Macro, message: &str) -> syn::Error {
    let (path, bang) = (&mac.path, &mac.bang_token);
    syn::Error::new_spanned(quote!(#path #bang), message)
}

/// The branches of `join!` and `try_join!`; of any crate they become `::durable::join!(check(a), check(b))`.
fn join(input: ParseStream<'_>) -> syn::Result<Punctuated<Expr, Token![,]>> {
    if input.peek(syn::Ident) && input.peek2(Token![;]) {
        // tokio's `biased;`: durable's branches are always polled in the order written.
        input.parse::<Ident>()?;
        input.parse::<Token![;]>()?;
    }
    expressions(input)
}

/// `name = expr` of the format macros is an assignment only by its syntax.
fn rewrite_argument(rewriter: &mut Rewriter, expr: &mut Expr) {
    match expr {
        Expr::Assign(named) => rewriter.visit_expr_mut(&mut named.right),
        expr => rewriter.visit_expr_mut(expr),
    }
}

fn expressions(input: ParseStream<'_>) -> syn::Result<Punctuated<Expr, Token![,]>> {
    Punctuated::parse_terminated(input)
}

enum Elements {
    List(Punctuated<Expr, Token![,]>),
    Repeat(Box<Expr>, Token![;], Box<Expr>),
}

fn elements(input: ParseStream<'_>) -> syn::Result<Elements> {
    let list = input.fork();
    if let Ok(parsed) = expressions(&list)
        && list.is_empty()
    {
        expressions(input)?;
        return Ok(Elements::List(parsed));
    }
    Ok(Elements::Repeat(input.parse()?, input.parse()?, input.parse()?))
}

impl Elements {
    fn rewritten(self, rewriter: &mut Rewriter) -> TokenStream {
        match self {
            Self::List(mut list) => {
                list.iter_mut().for_each(|expr| rewriter.visit_expr_mut(expr));
                list.to_token_stream()
            }
            Self::Repeat(mut element, semicolon, mut length) => {
                rewriter.visit_expr_mut(&mut element);
                rewriter.visit_expr_mut(&mut length);
                quote!(#element #semicolon #length)
            }
        }
    }
}

/// The arguments of `matches!`.
struct Matches {
    value: Expr,
    comma: Token![,],
    pattern: Pat,
    guard: Option<(Token![if], Expr)>,
}

fn matches(input: ParseStream<'_>) -> syn::Result<Matches> {
    let parsed = Matches {
        value: input.parse()?,
        comma: input.parse()?,
        pattern: Pat::parse_multi_with_leading_vert(input)?,
        guard: if input.peek(Token![if]) { Some((input.parse()?, input.parse()?)) } else { None },
    };
    input.parse::<Option<Token![,]>>()?;
    Ok(parsed)
}

impl Matches {
    fn rewritten(mut self, rewriter: &mut Rewriter) -> TokenStream {
        rewriter.visit_expr_mut(&mut self.value);
        let (value, comma, pattern) = (&self.value, &self.comma, &self.pattern);
        let guard = self.guard.as_mut().map(|(token, guard)| {
            rewriter.visit_expr_mut(guard);
            quote!(#token #guard)
        });
        quote!(#value #comma #pattern #guard)
    }
}

fn mentions(tokens: &TokenStream, words: &[&str]) -> bool {
    tokens.clone().into_iter().any(|token| match token {
        TokenTree::Ident(ident) => words.iter().any(|word| ident == word),
        TokenTree::Group(group) => mentions(&group.stream(), words),
        TokenTree::Punct(_) | TokenTree::Literal(_) => false,
    })
}

/// The first `await` with the dot before it.
fn first_await(tokens: &TokenStream) -> Option<TokenStream> {
    let mut dot = None;
    for token in tokens.clone() {
        match token {
            TokenTree::Ident(ident) if ident == "await" => return Some(quote!(#dot #ident)),
            TokenTree::Group(group) => {
                if let Some(found) = first_await(&group.stream()) {
                    return Some(found);
                }
                dot = None;
            }
            TokenTree::Punct(punct) => dot = (punct.as_char() == '.').then_some(punct),
            TokenTree::Ident(_) | TokenTree::Literal(_) => dot = None,
        }
    }
    None
}
