//! Syntax only: the attribute's arguments and the item under it. Knows no rule.

use proc_macro2::{Ident, TokenStream};
use quote::ToTokens;
use syn::ext::IdentExt;
use syn::parse::{Parse, ParseStream};
use syn::punctuated::Punctuated;
use syn::{Expr, Item, ItemFn, Token, token};

/// One option: `name`, `name = value` or `name(..)`.
pub(crate) struct OptionSyntax {
    pub(crate) name: Ident,
    pub(crate) value: OptionValue,
}

/// What follows an option's name.
pub(crate) enum OptionValue {
    Flag,
    Assign(Expr),
    List(Vec<OptionSyntax>),
}

impl Parse for OptionSyntax {
    fn parse(input: ParseStream<'_>) -> syn::Result<Self> {
        if !input.peek(Ident::peek_any) {
            return Err(input.error("expected an option such as `name = \"…\"`"));
        }
        let name = input.call(Ident::parse_any)?;
        let value = if input.peek(Token![=]) {
            input.parse::<Token![=]>()?;
            if input.is_empty() || input.peek(Token![,]) {
                // Reported with the form to write, as is an option without `=`.
                OptionValue::Flag
            } else {
                OptionValue::Assign(input.parse()?)
            }
        } else if input.peek(token::Paren) {
            let list;
            syn::parenthesized!(list in input);
            OptionValue::List(options(&list)?)
        } else {
            OptionValue::Flag
        };
        Ok(Self { name, value })
    }
}

impl ToTokens for OptionSyntax {
    /// The tokens to underline: the option's name.
    fn to_tokens(&self, tokens: &mut TokenStream) {
        self.name.to_tokens(tokens);
    }
}

/// Parses a comma-separated list of options.
pub(crate) fn options(input: ParseStream<'_>) -> syn::Result<Vec<OptionSyntax>> {
    Ok(Punctuated::<OptionSyntax, Token![,]>::parse_terminated(input)?.into_iter().collect())
}

/// Parses the item under the attribute, which must be a fn with a body.
pub(crate) fn function(attribute: &str, item: TokenStream) -> syn::Result<ItemFn> {
    let tokens = item.clone();
    syn::parse2::<ItemFn>(item).map_err(|error| match syn::parse2::<Item>(tokens.clone()) {
        // It is an item, but no fn: say so in the user's words. Broken syntax keeps the parser's text.
        Ok(other) => not_a_function(attribute, &other),
        Err(_) => error,
    })
}

fn not_a_function(attribute: &str, item: &Item) -> syn::Error {
    let message = format!("`{attribute}` goes on an `async fn` with a body");
    match item {
        Item::Struct(item) => syn::Error::new_spanned(item.struct_token, message),
        Item::Enum(item) => syn::Error::new_spanned(item.enum_token, message),
        Item::Impl(item) => syn::Error::new_spanned(item.impl_token, message),
        Item::Trait(item) => syn::Error::new_spanned(item.trait_token, message),
        Item::Mod(item) => syn::Error::new_spanned(item.mod_token, message),
        other => syn::Error::new_spanned(other, message),
    }
}
