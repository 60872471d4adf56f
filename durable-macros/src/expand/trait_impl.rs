//! `impl Workflow` and `impl Activity`.
//!
//! What the compiler checks in an impl it checks at several places: at each associated type, and again where
//! a method names it. It drops a second error that is equal to the first, place included. So everything here
//! that mentions the output or error stands, from its first to its last token, at the user's return type.

use proc_macro2::{Ident, TokenStream};
use quote::{quote, quote_spanned};

use super::{args, ends, registered_name};
use crate::model::{Function, Kind};

/// The impl. `options` is `fn options` of an activity, `body` the name of the inherent fn to run.
pub(super) fn expand(function: &Function, options: &TokenStream, body: &Ident) -> TokenStream {
    let (start, end) = ends(&function.output);
    let impl_token = syn::Token![impl](start);
    let trait_name = match function.kind {
        Kind::Workflow => quote!(Workflow),
        Kind::Activity => quote!(Activity),
    };
    let mut ident = function.sig.ident.clone();
    ident.set_span(end);
    let (name, input) = (registered_name(function), args::input_type(function));
    let (encode, decode) = (args::encode(function), args::decode(function));
    let (output, error) = (result_type(function, "Output", "Ok"), result_type(function, "Error", "Err"));
    let (report, run) = (report(function), run(function, body));
    let items = quote_spanned!(end=> {
        type Input = #input;
        #output
        #error
        const NAME: &'static str = #name;
        #options
        #encode
        #decode
        #report
        #run
    });
    let shared = &function.attrs.shared;
    quote! {
        #(#shared)*
        #[allow(clippy::all, clippy::pedantic)]
        #impl_token ::durable::#trait_name for #ident #items
    }
}

/// `type Output` or `type Error`: a part of the return type, if it is data.
fn result_type(function: &Function, name: &str, part: &str) -> TokenStream {
    let output = &function.output;
    let (start, end) = ends(output);
    let (name, part) = (Ident::new(name, end), Ident::new(part, end));
    let (type_token, lt) = (syn::Token![type](start), syn::Token![<](start));
    let recorded = quote_spanned!(end=> ::durable::__private::Recorded>::Data;);
    quote! {
        #type_token #name = #lt #lt #output as ::durable::__private::OutcomeType>::#part as #recorded
    }
}

/// `fn report`: finds out what the error type offers.
fn report(function: &Function) -> TokenStream {
    let (start, end) = ends(&function.output);
    let (error, report) = (Ident::new("Error", end), Ident::new("ErrorReport", end));
    let head = quote_spanned!(start=> fn report(error: &Self::#error) -> ::durable::__private::#report);
    let block = quote_spanned!(end=> {
        #[allow(unused_imports)]
        use ::durable::__private::error_probe::*;
        let probe = ErrorProbe(error);
        ErrorReport::new((&&&&probe).durable_text(), (&&probe).durable_advice())
    });
    quote!(#head #block)
}

/// `fn run`: takes the input apart and boxes the body.
fn run(function: &Function, body: &Ident) -> TokenStream {
    let (ctx, value) = (&function.ctx, args::value(function));
    let names = function.params.iter().map(|param| &param.ident);
    let (context, future) = match function.kind {
        Kind::Workflow => (quote!(WorkflowContext), quote!(LocalBoxFuture)),
        Kind::Activity => (quote!(ActivityContext), quote!(BoxFuture)),
    };
    let (start, end) = ends(&function.output);
    let into_result = args::into_result(function);
    let arguments = quote_spanned!(end=> (Self::#body(&#ctx #(, #names)*).await));
    // Under the fn's name: a future that cannot move between threads is an error of this fn.
    let boxed = quote_spanned! {function.sig.ident.span()=>
        ::std::boxed::Box::pin(async move { #into_result #arguments })
    };
    let gt = syn::Token![>](end);
    let head = quote_spanned! {start=>
        fn run(
            #ctx: ::durable::#context,
            __durable_input: Self::Input,
        ) -> ::durable::__private::#future<::core::result::Result<Self::Output, Self::Error>
    };
    let block = quote_spanned!(end=> {
        let #value = __durable_input;
        #boxed
    });
    quote!(#head #gt #block)
}
