//! How arguments become a value, a JSON object, and arguments again.

use proc_macro2::TokenStream;
use quote::{format_ident, quote, quote_spanned};
use syn::{GenericArgument, PathArguments, Type};

use super::{ends, registered_name};
use crate::model::{Function, Param};

/// `()` for no parameter, `T` for one, a tuple for more.
pub(super) fn input_type(function: &Function) -> TokenStream {
    let types = function.params.iter().map(|param| &param.ty);
    if function.params.len() == 1 { quote!(#(#types)*) } else { quote!((#(#types),*)) }
}

/// The parameters as one value, or as the pattern that takes it apart.
pub(super) fn value(function: &Function) -> TokenStream {
    let names = function.params.iter().map(|param| &param.ident);
    if function.params.len() == 1 { quote!(#(#names)*) } else { quote!((#(#names),*)) }
}

/// One checked codec for each parameter. The bound on its type stands here and nowhere else, so that a
/// type that is no data is one error, under the type.
pub(super) fn codecs(function: &Function) -> TokenStream {
    let codecs = function.params.iter().enumerate().map(|(index, param)| {
        let (name, ty) = (codec_name(index), &param.ty);
        let (start, end) = ends(ty);
        let open = quote_spanned!(start=> ::durable::__private::arg_codec::<);
        let close = quote_spanned!(end=> >);
        quote! {
            const #name: ::durable::__private::ArgCodec<#ty> = #open #ty #close ();
        }
    });
    quote!(#(#codecs)*)
}

/// Refuses locks, atomics and `Rc`, which serde would copy silently.
pub(super) fn probes(function: &Function) -> TokenStream {
    let mut types: Vec<&Type> = function.params.iter().map(|param| &param.ty).collect();
    if let Some((ok, error)) = result_arguments(&function.output) {
        types.extend([ok, error]);
    }
    let probes = types.into_iter().map(|ty| {
        let (start, end) = ends(ty);
        let require = quote_spanned!(start=> ::durable::__private::data_probe::DataProbe::<#ty>::require);
        let probe = quote_spanned!(start=> ::durable::__private::data_probe::DataProbe::<#ty>::new());
        let plain = quote_spanned!(end=> .plain());
        quote!(#require(#probe #plain);)
    });
    quote! {
        const _: fn() = || {
            // Nameless: the types in the probes are the user's, and none of theirs may be hidden.
            #[allow(unused_imports)]
            use ::durable::__private::data_probe::OtherData as _;
            #(#probes)*
        };
    }
}

/// `Workflow::encode`: arguments to a JSON object keyed by parameter name.
pub(super) fn encode(function: &Function) -> TokenStream {
    let what = what(function);
    let value = value(function);
    let fields = function.params.iter().enumerate().map(|(index, Param { ident, key, .. })| {
        let codec = codec_name(index);
        quote!(.field(#key, #ident, &Self::#codec))
    });
    let input = format_ident!("__durable_input");
    quote! {
        fn encode(
            #input: &Self::Input,
        ) -> ::core::result::Result<::durable::__private::Payload, ::durable::__private::DataError> {
            let #value = #input;
            ::durable::__private::ArgWriter::new(#what) #(#fields)* .finish()
        }
    }
}

/// `Workflow::decode`: a missing key is an error, unless the parameter is an `Option`.
pub(super) fn decode(function: &Function) -> TokenStream {
    let what = what(function);
    let reads = function.params.iter().enumerate().map(|(index, Param { key, .. })| {
        let codec = codec_name(index);
        quote!(__durable_args.field(#key, &Self::#codec)?)
    });
    let input = match function.params.as_slice() {
        [] => quote!({
            let _ = __durable_args;
        }),
        [_] => quote!(#(#reads)*),
        _ => quote!((#(#reads),*)),
    };
    quote! {
        fn decode(
            __durable_payload: &::durable::__private::Payload,
        ) -> ::core::result::Result<Self::Input, ::durable::__private::DataError> {
            let __durable_args = ::durable::__private::ArgReader::new(#what, __durable_payload)?;
            ::core::result::Result::Ok(#input)
        }
    }
}

/// The types of `Result<T, E>`, where they can be seen; not through an alias.
pub(super) fn result_arguments(output: &Type) -> Option<(&Type, &Type)> {
    let output = match output {
        Type::Group(group) => &group.elem,
        output => output,
    };
    let Type::Path(path) = output else { return None };
    let last = path.path.segments.last().filter(|last| last.ident == "Result")?;
    let PathArguments::AngleBracketed(arguments) = &last.arguments else { return None };
    let mut types = arguments.args.iter().map(|argument| match argument {
        GenericArgument::Type(ty) => Some(ty),
        _ => None,
    });
    match (types.next(), types.next(), types.next()) {
        (Some(Some(ok)), Some(Some(error)), None) => Some((ok, error)),
        _ => None,
    }
}

/// The path to `OutcomeType::into_result`, at the return type: what is no `Result` is one error there.
pub(super) fn into_result(function: &Function) -> TokenStream {
    let output = &function.output;
    let (start, end) = ends(output);
    let lt = quote_spanned!(start=> <);
    let method = syn::Ident::new("into_result", end);
    quote!(#lt #output as ::durable::__private::OutcomeType>::#method)
}

fn codec_name(index: usize) -> syn::Ident {
    format_ident!("__DURABLE_ARG_{index}")
}

fn what(function: &Function) -> String {
    format!("{} `{}`", function.kind.noun(), registered_name(function))
}
