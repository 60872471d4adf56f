//! Code generation. Everything here works on a checked model and cannot fail.
//!
//! Under the fn's name there are two items: an empty enum (a type, so that a local of the same name
//! stays possible) that implements `Workflow` or `Activity`, and a fn that makes the lazy call.

mod activity;
mod args;
mod helper;
mod trait_impl;
mod workflow;

use proc_macro2::{Ident, Span, TokenStream, TokenTree};
use quote::{ToTokens, quote, quote_spanned};
use syn::ext::IdentExt;
use syn::parse::Parser;

use crate::errors::Errors;
use crate::model::{Function, Kind};
use crate::{check, fallback, options, parse};

/// Expands `#[workflow]` or `#[activity]`.
pub(crate) fn attribute(kind: Kind, args: TokenStream, item: &TokenStream) -> TokenStream {
    let mut errors = Errors::default();
    let options = parse::options.parse2(args).unwrap_or_else(|error| {
        errors.push(error);
        Vec::new()
    });
    let options = options::read(kind, options, &mut errors);
    let item = match parse::function(kind.attribute(), item.clone()) {
        Ok(function) => function,
        Err(error) => {
            errors.push(error);
            let errors = errors.to_compile_errors();
            return quote!(#errors #item);
        }
    };
    let expanded = match check::function(kind, options, &item, &mut errors) {
        Some(function) => match kind {
            Kind::Workflow => workflow::expand(function),
            Kind::Activity => activity::expand(&function),
        },
        None => fallback::function(kind, item),
    };
    let errors = errors.to_compile_errors();
    quote!(#errors #expanded)
}

/// Expands `#[helper]`.
pub(crate) fn helper(args: TokenStream, item: TokenStream) -> TokenStream {
    let mut errors = Errors::default();
    if !args.is_empty() {
        errors.on(args, "`#[durable::helper]` takes no options; remove them");
    }
    let expanded = match parse::function("#[durable::helper]", item.clone()) {
        Ok(function) => check::helper(function, &mut errors).map_or(item, helper::expand),
        Err(error) => {
            errors.push(error);
            item
        }
    };
    let errors = errors.to_compile_errors();
    quote!(#errors #expanded)
}

/// The marker type.
fn marker(function: &Function) -> TokenStream {
    let (vis, ident) = (&function.vis, &function.sig.ident);
    let (docs, shared) = (&function.attrs.docs, &function.attrs.shared);
    // The user's `fn` is where errors show the type's definition.
    let enum_token = syn::Token![enum](function.sig.fn_token.span);
    let no_variants = quote_spanned!(ident.span()=> {});
    quote! {
        #(#docs)*
        #(#shared)*
        #[allow(non_camel_case_types, missing_debug_implementations, clippy::all, clippy::pedantic)]
        #vis #enum_token #ident #no_variants
    }
}

/// The fn that makes the call in a workflow.
fn call(function: &Function) -> TokenStream {
    let (vis, ident, ctx) = (&function.vis, &function.sig.ident, &function.ctx);
    let (shared, attrs) = (&function.attrs.shared, &function.attrs.call);
    let names = function.params.iter().map(|param| &param.ident);
    let types = function.params.iter().map(|param| &param.ty);
    let input = args::value(function);
    let fn_token = function.sig.fn_token;
    let (start, end) = function.sig.inputs.first().map_or_else(|| ends(ident), ends);
    let (and, context) = (syn::Token![&](start), Ident::new("WorkflowContext", end));
    let call = match function.kind {
        Kind::Workflow => quote!(ChildCall),
        Kind::Activity => quote!(ActivityCall),
    };
    let noun = function.kind.noun();
    // No link to the type: a raw name would break it.
    let doc = format!(
        "Calls the {noun} `{ident}` from a workflow: nothing happens until the call is awaited, joined or spawned."
    );
    quote! {
        #[doc = #doc]
        #(#shared)*
        #(#attrs)*
        #[track_caller]
        #[allow(dead_code, clippy::all, clippy::pedantic)]
        #vis #fn_token #ident(#ctx: #and ::durable::#context #(, #names: #types)*) -> ::durable::#call<#ident> {
            ::durable::#call::<#ident>::new(#ctx, #input)
        }
    }
}

/// The name under which it is registered and recorded.
fn registered_name(function: &Function) -> String {
    function.options.name.clone().unwrap_or_else(|| function.sig.ident.unraw().to_string())
}

/// The first and the last span of `tokens`: on stable a single span covers one token only.
fn ends(tokens: impl ToTokens) -> (Span, Span) {
    let mut tokens = tokens.into_token_stream().into_iter();
    let first = tokens.next().as_ref().map_or_else(Span::call_site, TokenTree::span);
    let last = tokens.last().as_ref().map_or(first, TokenTree::span);
    (first, last)
}
