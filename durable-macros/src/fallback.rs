//! What is emitted beside the errors, so that a broken item causes no second error elsewhere.

use proc_macro2::TokenStream;
use quote::quote;
use syn::{FnArg, ItemFn, Token};

use crate::model::Kind;

/// The item as written, and a marker type under its name, so that registrations still resolve.
pub(crate) fn function(kind: Kind, mut item: ItemFn) -> TokenStream {
    item.attrs.retain(|attr| !attr.path().is_ident("expect"));
    if item.sig.inputs.iter().any(|arg| matches!(arg, FnArg::Receiver(_))) {
        // It stands in an `impl`, where no type may stand beside it.
        return quote!(#item);
    }
    // Awaits in the body are not the user's second mistake.
    item.sig.asyncness.get_or_insert(Token![async](item.sig.fn_token.span));
    let (vis, ident) = (&item.vis, &item.sig.ident);
    let marker = marker_impl(kind, ident);
    quote! {
        #[doc(hidden)]
        #[allow(non_camel_case_types, dead_code, missing_docs, missing_debug_implementations)]
        #vis enum #ident {}
        #marker
        #[allow(dead_code, unused)]
        #item
    }
}

fn marker_impl(kind: Kind, ident: &syn::Ident) -> TokenStream {
    let (private, name) = (quote!(::durable::__private), ident.to_string());
    let (trait_, context, future, options) = match kind {
        Kind::Workflow => (quote!(Workflow), quote!(WorkflowContext), quote!(LocalBoxFuture), quote!()),
        Kind::Activity => (
            quote!(Activity),
            quote!(ActivityContext),
            quote!(BoxFuture),
            quote!(fn options() -> #private::ActivityOptions { ::core::unreachable!() }),
        ),
    };
    quote! {
        impl ::durable::#trait_ for #ident {
            type Input = ();
            type Output = ();
            type Error = ();
            const NAME: &'static str = #name;
            #options
            fn encode(_: &()) -> ::core::result::Result<#private::Payload, #private::DataError> {
                ::core::unreachable!()
            }
            fn decode(_: &#private::Payload) -> ::core::result::Result<(), #private::DataError> {
                ::core::unreachable!()
            }
            fn report(_: &()) -> #private::ErrorReport {
                ::core::unreachable!()
            }
            fn run(_: ::durable::#context, _: ()) -> #private::#future<::core::result::Result<(), ()>> {
                ::core::unreachable!()
            }
        }
    }
}
