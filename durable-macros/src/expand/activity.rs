//! `#[activity]`: marker, call, the body as written, and `impl Activity`.

use proc_macro2::TokenStream;
use quote::{format_ident, quote, quote_spanned};

use super::{args, call, marker, self_result, trait_items};
use crate::model::{Function, Options};

pub(super) fn expand(function: &Function) -> TokenStream {
    let (marker, call, trait_items) = (marker(function), call(function), trait_items(function));
    let (codecs, probes) = (args::codecs(function), args::probes(function));
    let options = options(&function.options);
    let (value, into_result) = (args::value(function), args::into_result(function));
    let Function { attrs, vis, sig, ctx, params, block, .. } = function;
    let (ident, shared, body_attrs) = (&sig.ident, &attrs.shared, &attrs.body);
    let names: Vec<_> = params.iter().map(|param| &param.ident).collect();
    let mut body = sig.clone();
    body.ident = format_ident!("body", span = ident.span());
    // Under the fn's name: a future that cannot move between threads is an error of this fn.
    let boxed = quote_spanned! {ident.span()=>
        ::std::boxed::Box::pin(async move { #into_result(Self::body(&#ctx #(, #names)*).await) })
    };
    let result = self_result(function);
    quote! {
        #marker
        #call
        #(#shared)*
        impl #ident {
            /// The body itself, for a test that needs no engine around it.
            #(#body_attrs)*
            #[allow(unreachable_pub, clippy::unused_async, clippy::used_underscore_binding)]
            #vis #body #block

            #codecs
        }
        #(#shared)*
        #[allow(clippy::all, clippy::pedantic)]
        impl ::durable::Activity for #ident {
            #trait_items
            fn options() -> ::durable::__private::ActivityOptions {
                #options
            }
            fn run(
                #ctx: ::durable::ActivityContext,
                __durable_input: Self::Input,
            ) -> ::durable::__private::BoxFuture<#result> {
                let #value = __durable_input;
                #boxed
            }
        }
        #(#shared)*
        #probes
    }
}

fn options(options: &Options) -> TokenStream {
    let Options { start_to_close_us, schedule_to_close_us, retry, .. } = options;
    let start_to_close_us = option(start_to_close_us.as_ref());
    let schedule_to_close_us = option(schedule_to_close_us.as_ref());
    let initial_us = option(retry.initial_us.as_ref());
    let max_us = option(retry.max_us.as_ref());
    let coefficient = option(retry.coefficient.as_ref());
    let max_attempts = option(retry.max_attempts.as_ref());
    let jitter = option(retry.jitter.as_ref());
    quote! {
        ::durable::__private::activity_options(::durable::__private::OptionsSpec {
            start_to_close_us: #start_to_close_us,
            schedule_to_close_us: #schedule_to_close_us,
            initial_us: #initial_us,
            max_us: #max_us,
            coefficient: #coefficient,
            max_attempts: #max_attempts,
            jitter: #jitter,
        })
    }
}

fn option(value: Option<&impl quote::ToTokens>) -> TokenStream {
    match value {
        Some(value) => quote!(::core::option::Option::Some(#value)),
        None => quote!(::core::option::Option::None),
    }
}
