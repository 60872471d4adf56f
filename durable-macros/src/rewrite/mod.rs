//! Rewrites workflow code so that the compiler checks every wait in it (design D10, layer T):
//! `f.await` becomes `check(f).await`, which needs a durable future, and `async {}` becomes
//! `block(async {})`, which is one. What cannot be checked is replaced by an error at its place.

mod macros;

use proc_macro2::{Span, TokenStream, TokenTree};
use quote::{ToTokens, quote_spanned};
use syn::spanned::Spanned;
use syn::visit_mut::{self, VisitMut};
use syn::{Block, Expr, ExprAsync, ExprAwait, ExprClosure, Item, Macro};

/// Rewrites the body of a workflow or helper.
pub(crate) fn body(block: &mut Block) {
    Rewriter.visit_block_mut(block);
}

struct Rewriter;

impl VisitMut for Rewriter {
    fn visit_expr_mut(&mut self, expr: &mut Expr) {
        if let Expr::Closure(ExprClosure { asyncness: Some(token), .. }) = expr {
            // Its future has no name to put a bound on.
            *expr = error_expr(
                token.span,
                "an async closure cannot be checked in a workflow; write `|..| async move { .. }`",
            );
            return;
        }
        visit_mut::visit_expr_mut(self, expr);
        match expr {
            Expr::Await(wait) => checked(wait),
            Expr::Async(block) => {
                let block = durable_block(block);
                *expr = Expr::Verbatim(block);
            }
            _ => {}
        }
    }

    fn visit_macro_mut(&mut self, mac: &mut Macro) {
        macros::rewrite(self, mac);
    }

    fn visit_item_mut(&mut self, _: &mut Item) {
        // A nested item is no workflow code of this fn.
    }
}

fn checked(wait: &mut ExprAwait) {
    let base = checked_expr(&wait.base);
    *wait.base = Expr::Verbatim(base);
}

/// `check(expr)`, with the call at the span of `expr`, so that the error stands under it.
fn checked_expr(expr: &Expr) -> TokenStream {
    quote_spanned!(expr.span()=> ::durable::__private::check(#expr))
}

fn durable_block(block: &ExprAsync) -> TokenStream {
    quote_spanned!(block.async_token.span=> ::durable::__private::block(#block))
}

/// An expression that is a compile error and nothing else: it has every type and can be awaited.
fn error_expr(span: Span, message: &str) -> Expr {
    Expr::Verbatim(quote_spanned!(span=> ::core::compile_error!(#message)))
}

/// Turns `mac` into a compile error that underlines `tokens`.
fn refuse(mac: &mut Macro, tokens: impl ToTokens, message: &str) {
    let (start, end) = ends(tokens.to_token_stream());
    mac.path = syn::parse_quote_spanned!(start=> ::core::compile_error);
    mac.bang_token.span = start;
    mac.delimiter = match &mac.delimiter {
        syn::MacroDelimiter::Paren(_) => syn::MacroDelimiter::Paren(syn::token::Paren(end)),
        syn::MacroDelimiter::Brace(_) => syn::MacroDelimiter::Brace(syn::token::Brace(end)),
        syn::MacroDelimiter::Bracket(_) => syn::MacroDelimiter::Bracket(syn::token::Bracket(end)),
    };
    mac.tokens = quote_spanned!(end=> #message);
}

fn ends(tokens: TokenStream) -> (Span, Span) {
    let mut tokens = tokens.into_iter();
    let first = tokens.next().as_ref().map_or_else(Span::call_site, TokenTree::span);
    let last = tokens.last().as_ref().map_or(first, TokenTree::span);
    (first, last)
}
