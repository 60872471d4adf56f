//! Rewrites workflow code so that the compiler checks every wait in it (design D10, layer T):
//! `f.await` becomes `check(f).await`, which needs a durable future, and `async {}` becomes
//! `block(async {})`, which is one. What cannot be checked is replaced by an error at its place.

mod macros;

use proc_macro2::TokenStream;
use quote::{ToTokens, quote, quote_spanned};
use syn::spanned::Spanned;
use syn::visit_mut::{self, VisitMut};
use syn::{Block, Expr, ExprAsync, ExprAwait, ExprClosure, Item, Stmt};

/// Rewrites the body of a workflow or helper.
pub(crate) fn body(block: &mut Block) {
    Rewriter.visit_block_mut(block);
}

struct Rewriter;

impl VisitMut for Rewriter {
    fn visit_expr_mut(&mut self, expr: &mut Expr) {
        if let Expr::Closure(ExprClosure { asyncness: Some(token), .. }) = expr {
            // Its future has no name to put a bound on.
            let error = syn::Error::new_spanned(
                *token,
                "an async closure cannot be checked in a workflow; write `|..| async move { .. }`",
            );
            async_closure(expr);
            visit_mut::visit_expr_mut(self, expr);
            *expr = refused(&error, &*expr);
            return;
        }
        if let Expr::Macro(call) = expr {
            if let Err(error) = macros::rewrite(self, &mut call.mac) {
                *expr = refused(&error, &*expr);
            }
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

    fn visit_stmt_mut(&mut self, stmt: &mut Stmt) {
        if let Stmt::Macro(call) = stmt {
            if let Err(error) = macros::rewrite(self, &mut call.mac) {
                *stmt = Stmt::Expr(refused(&error, &*stmt), None);
            }
            return;
        }
        visit_mut::visit_stmt_mut(self, stmt);
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

/// Makes a refused async closure what the message says to write, so that its calls are no second error.
fn async_closure(expr: &mut Expr) {
    let Expr::Closure(closure) = expr else { return };
    closure.asyncness = None;
    let body = &closure.body;
    *closure.body = syn::parse_quote!(async move { #body });
}

/// The error, with the refused code after it: what it uses is then not reported as unused.
fn refused(error: &syn::Error, code: impl ToTokens) -> Expr {
    let error = error.to_compile_error();
    Expr::Verbatim(quote!({ #error #code }))
}
