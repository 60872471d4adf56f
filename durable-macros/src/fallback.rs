//! What is emitted beside the errors of a signature, so that they cause no second ones: the item as written,
//! out of the way, and under its name a type and a fn that the rest of the user's code can go on using.

use proc_macro2::TokenStream;
use quote::{format_ident, quote};
use syn::{FnArg, ItemFn, PatType, ReturnType, Token, Type};

use crate::check::{is_context, is_owned};
use crate::model::Kind;

pub(crate) fn function(kind: Kind, mut item: ItemFn) -> TokenStream {
    if item.sig.inputs.iter().any(|arg| matches!(arg, FnArg::Receiver(_))) {
        // It stands in an `impl`, where no type may stand beside it.
        return quote!(#item);
    }
    let (marker, call) = (marker(kind, &item), call(kind, &item));
    // What keeps a fn from being compiled is not the user's second mistake.
    item.attrs.retain(|attr| !attr.path().is_ident("expect"));
    item.sig.asyncness.get_or_insert(Token![async](item.sig.fn_token.span));
    quote! {
        #marker
        #call
        #[allow(unused, non_local_definitions)]
        const _: () = { #item };
    }
}

fn call(kind: Kind, item: &ItemFn) -> TokenStream {
    let (vis, ident, generics) = (&item.vis, &item.sig.ident, &item.sig.generics);
    let (params, where_clause) = (&generics.params, &generics.where_clause);
    let types = arguments(item).map(|arg| &arg.ty);
    let call = match kind {
        Kind::Workflow => quote!(ChildCall),
        Kind::Activity => quote!(ActivityCall),
    };
    quote! {
        #[doc(hidden)]
        #[allow(dead_code)]
        #vis fn #ident <#params> (_: &::durable::WorkflowContext #(, _: #types)*) -> ::durable::#call<#ident>
        #where_clause
        {
            ::core::unreachable!()
        }
    }
}

/// The parameters, but for the context, wherever it stands.
fn arguments(item: &ItemFn) -> impl Iterator<Item = &PatType> {
    item.sig.inputs.iter().filter_map(|arg| match arg {
        FnArg::Typed(arg) if !is_context(&arg.ty) => Some(arg),
        _ => None,
    })
}

fn marker(kind: Kind, item: &ItemFn) -> TokenStream {
    let (vis, ident) = (&item.vis, &item.sig.ident);
    let (private, name) = (quote!(::durable::__private), ident.to_string());
    let (trait_name, context, future, options) = match kind {
        Kind::Workflow => (
            format_ident!("Workflow"),
            format_ident!("WorkflowContext"),
            format_ident!("LocalBoxFuture"),
            quote!(),
        ),
        Kind::Activity => (
            format_ident!("Activity"),
            format_ident!("ActivityContext"),
            format_ident!("BoxFuture"),
            quote!(fn options() -> #private::ActivityOptions { ::core::unreachable!() }),
        ),
    };
    let input = input(item);
    let (output, error) = match result(item) {
        Some(result) => {
            (quote!(<#result as #private::OutcomeType>::Ok), quote!(<#result as #private::OutcomeType>::Err))
        }
        None => (quote!(()), quote!(())),
    };
    quote! {
        #[doc(hidden)]
        #[allow(non_camel_case_types, dead_code, missing_debug_implementations)]
        #vis enum #ident {}
        impl ::durable::#trait_name for #ident {
            type Input = #input;
            type Output = #output;
            type Error = #error;
            const NAME: &'static str = #name;
            #options
            fn encode(_: &Self::Input) -> ::core::result::Result<#private::Payload, #private::DataError> {
                ::core::unreachable!()
            }
            fn decode(_: &#private::Payload) -> ::core::result::Result<Self::Input, #private::DataError> {
                ::core::unreachable!()
            }
            fn report(_: &Self::Error) -> #private::ErrorReport {
                ::core::unreachable!()
            }
            fn run(
                _: ::durable::#context,
                _: Self::Input,
            ) -> #private::#future<::core::result::Result<Self::Output, Self::Error>> {
                ::core::unreachable!()
            }
        }
    }
}

/// The arguments' types, if they can stand in an impl as they are.
fn input(item: &ItemFn) -> TokenStream {
    let types: Vec<&Type> = arguments(item).map(|arg| &*arg.ty).collect();
    if !item.sig.generics.params.is_empty() || !types.iter().all(|ty| is_owned(ty)) {
        return quote!(());
    }
    if types.len() == 1 { quote!(#(#types)*) } else { quote!((#(#types),*)) }
}

/// The return type, if it can stand in an impl and is seen to be a `Result`.
fn result(item: &ItemFn) -> Option<&Type> {
    let ReturnType::Type(_, ty) = &item.sig.output else { return None };
    let is_result = matches!(&**ty, Type::Path(path)
        if path.path.segments.last().is_some_and(|last| last.ident.to_string().ends_with("Result")));
    (is_result && item.sig.generics.params.is_empty() && is_owned(ty)).then_some(ty)
}
