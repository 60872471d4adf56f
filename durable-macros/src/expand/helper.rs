//! `#[durable::helper]`: an `async fn` becomes a plain fn that returns a durable future, with the awaits
//! in its body checked as in a workflow.

use proc_macro2::{Ident, TokenStream};
use quote::{ToTokens, quote};
use syn::visit::{self, Visit};
use syn::{ReturnType, TypeImplTrait};

use crate::model::Helper;
use crate::rewrite;

pub(super) fn expand(mut helper: Helper) -> TokenStream {
    rewrite::body(&mut helper.block);
    let Helper { attrs, vis, mut sig, output, block } = helper;
    sig.asyncness = None;
    let pin = pin_output(&sig.output, &output);
    // Edition 2024 captures every lifetime here, whatever edition the user's crate has: the token is ours.
    sig.output = ReturnType::Default;
    let where_clause = sig.generics.where_clause.take();
    let statements = &block.stmts;
    quote! {
        #(#attrs)*
        #[allow(unused_parens, unused_braces, clippy::unused_async, clippy::manual_async_fn)]
        #vis #sig -> ::durable::__private::Durable<impl ::core::future::Future<Output = #output>>
        #where_clause
        {
            ::durable::__private::durable(async move { #pin #(#statements)* })
        }
    }
}

/// Tells the compiler what the block returns, so that `?` and `Ok(..)` in it are typed as in an `async fn`.
fn pin_output(declared: &ReturnType, output: &TokenStream) -> TokenStream {
    struct Opaque(bool);
    impl Visit<'_> for Opaque {
        fn visit_type_impl_trait(&mut self, ty: &TypeImplTrait) {
            self.0 = true;
            visit::visit_type_impl_trait(self, ty);
        }
    }
    let mut opaque = Opaque(false);
    opaque.visit_return_type(declared);
    if opaque.0 {
        return TokenStream::new();
    }
    let local = Ident::new("__durable_output", proc_macro2::Span::mixed_site()).into_token_stream();
    quote! {
        #[allow(unknown_lints, unreachable_code, clippy::all, clippy::pedantic)]
        if false {
            let #local: #output = ::core::unreachable!();
            return #local;
        }
    }
}
