//! `#[workflow]`: marker, call, body with checked awaits, and `impl Workflow`.

use proc_macro2::TokenStream;
use quote::{format_ident, quote};
use syn::FnArg;

use super::{args, call, marker, trait_impl};
use crate::model::Function;
use crate::rewrite;

pub(super) fn expand(mut function: Function) -> TokenStream {
    rewrite::body(&mut function.block);
    let (marker, call) = (marker(&function), call(&function));
    let (codecs, probes) = (args::codecs(&function), args::probes(&function));
    let Function { attrs, vis, sig, ctx, params, output, block, .. } = &function;
    let (ident, shared, body_attrs) = (&sig.ident, &attrs.shared, &attrs.body);
    let names: Vec<_> = params.iter().map(|param| &param.ident).collect();
    let types = params.iter().map(|param| &param.ty);
    let ctx_type = match sig.inputs.first() {
        Some(FnArg::Typed(first)) => &first.ty,
        _ => return TokenStream::new(),
    };
    let mut inner = sig.clone();
    inner.ident = format_ident!("__durable_body", span = ident.span());
    let trait_impl = trait_impl::expand(&function, &TokenStream::new(), &inner.ident);
    quote! {
        #marker
        #call
        #(#shared)*
        impl #ident {
            /// The body itself, for a test that needs no engine around it.
            #[allow(dead_code, unreachable_pub, clippy::all, clippy::pedantic)]
            #vis fn body(
                #ctx: #ctx_type #(, #names: #types)*
            ) -> ::durable::__private::Durable<impl ::core::future::Future<Output = #output>> {
                ::durable::__private::durable(Self::__durable_body(#ctx #(, #names)*))
            }

            #(#body_attrs)*
            #[allow(
                unused_parens,
                unused_braces,
                clippy::unused_async,
                clippy::used_underscore_binding,
                clippy::future_not_send
            )]
            #inner #block

            #codecs
        }
        #trait_impl
        #(#shared)*
        #probes
    }
}
