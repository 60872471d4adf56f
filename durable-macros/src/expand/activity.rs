//! `#[activity]`: marker, call, the body as written, and `impl Activity`.

use proc_macro2::TokenStream;
use quote::{format_ident, quote};

use super::{args, call, marker, trait_impl};
use crate::model::{Function, Options};

pub(super) fn expand(function: &Function) -> TokenStream {
    let (marker, call) = (marker(function), call(function));
    let (codecs, probes) = (args::codecs(function), args::probes(function));
    let options = options(&function.options);
    let Function { attrs, vis, sig, block, .. } = function;
    let (ident, shared, body_attrs) = (&sig.ident, &attrs.shared, &attrs.body);
    let mut body = sig.clone();
    body.ident = format_ident!("body", span = ident.span());
    let trait_impl = trait_impl::expand(function, &options, &body.ident);
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
        #trait_impl
        #(#shared)*
        #probes
    }
}

/// `fn options`.
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
        fn options() -> ::durable::__private::ActivityOptions {
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
}

fn option(value: Option<&impl quote::ToTokens>) -> TokenStream {
    value.map_or_else(
        || quote!(::core::option::Option::None),
        |value| quote!(::core::option::Option::Some(#value)),
    )
}
