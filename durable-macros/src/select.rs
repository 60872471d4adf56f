//! `select!`: what it looks like, and what it becomes.

use proc_macro2::{Span, TokenStream};
use quote::{ToTokens, format_ident, quote, quote_spanned};
use syn::parse::{Parse, ParseStream};
use syn::spanned::Spanned;
use syn::visit_mut::{self, VisitMut};
use syn::{Expr, ExprBlock, Ident, Pat, PatIdent, Token, token};

/// `pattern = future, if condition => handler`.
pub(crate) struct Branch {
    pattern: Pat,
    equals: Token![=],
    pub(crate) future: Expr,
    pub(crate) condition: Option<Expr>,
    arrow: Token![=>],
    pub(crate) handler: Expr,
}

/// The branches, and what to do when none of them can be waited for.
pub(crate) struct Select {
    pub(crate) branches: Vec<Branch>,
    pub(crate) otherwise: Option<(Token![else], Token![=>], Expr)>,
}

impl Parse for Select {
    fn parse(input: ParseStream<'_>) -> syn::Result<Self> {
        if input.peek(Ident) && input.peek2(Token![;]) {
            // tokio's `biased;`: branches are always looked at in the order written.
            let word: Ident = input.parse()?;
            if word != "biased" {
                return Err(syn::Error::new(word.span(), FORM));
            }
            input.parse::<Token![;]>()?;
        }
        let mut select = Self { branches: Vec::new(), otherwise: None };
        while !input.is_empty() {
            if let Some((word, ..)) = &select.otherwise {
                return Err(syn::Error::new(word.span(), "`else` is the last branch"));
            }
            if input.peek(Token![else]) {
                select.otherwise = Some((input.parse()?, input.parse()?, handler(input)?));
            } else {
                select.branches.push(Branch {
                    pattern: Pat::parse_multi_with_leading_vert(input)?,
                    equals: equals(input)?,
                    future: input.parse()?,
                    condition: condition(input)?,
                    arrow: input.parse()?,
                    handler: handler(input)?,
                });
            }
        }
        if select.branches.is_empty() {
            return Err(syn::Error::new(Span::call_site(), "`select!` waits for at least one branch"));
        }
        Ok(select)
    }
}

const FORM: &str =
    "a branch of `select!` is `pattern = future => handler`, e.g. `charged = charge(ctx) => charged?`";

fn equals(input: ParseStream<'_>) -> syn::Result<Token![=]> {
    input.parse().map_err(|error| syn::Error::new(error.span(), FORM))
}

fn condition(input: ParseStream<'_>) -> syn::Result<Option<Expr>> {
    if !input.peek(Token![,]) {
        return Ok(None);
    }
    input.parse::<Token![,]>()?;
    input.parse::<Token![if]>()?;
    input.parse().map(Some)
}

/// An expression and its comma, which a block does not need.
fn handler(input: ParseStream<'_>) -> syn::Result<Expr> {
    let is_block = input.peek(token::Brace) && {
        let rest = input.fork();
        rest.parse::<ExprBlock>()?;
        rest.is_empty() || !rest.peek(Token![.]) && !rest.peek(Token![?])
    };
    if is_block {
        let block = Expr::Block(input.parse()?);
        input.parse::<Option<Token![,]>>()?;
        return Ok(block);
    }
    let handler = input.parse()?;
    if !input.is_empty() {
        input.parse::<Token![,]>()?;
    }
    Ok(handler)
}

impl ToTokens for Select {
    /// As it was written.
    fn to_tokens(&self, tokens: &mut TokenStream) {
        for Branch { pattern, equals, future, condition, arrow, handler } in &self.branches {
            let condition = condition.as_ref().map(|condition| quote!(, if #condition));
            tokens.extend(quote!(#pattern #equals #future #condition #arrow #handler,));
        }
        if let Some((word, arrow, handler)) = &self.otherwise {
            tokens.extend(quote!(#word #arrow #handler));
        }
    }
}

/// Binds nothing that would have to move or change what is only looked at.
struct LookOnly;

impl VisitMut for LookOnly {
    fn visit_pat_ident_mut(&mut self, pattern: &mut PatIdent) {
        pattern.by_ref = None;
        pattern.mutability = None;
        visit_mut::visit_pat_ident_mut(self, pattern);
    }
}

/// A name that no code of the user can see.
fn local(name: &str) -> Ident {
    Ident::new(name, Span::mixed_site())
}

/// The wait, and then the handler of the branch that ended first.
///
/// Conditions come first, then the futures of those that hold are made, each in its own key scope. The others of a
/// branch that has ended are dropped in source order before its handler runs.
pub(crate) fn expand(select: &Select) -> TokenStream {
    let names: Vec<Ident> = (0..select.branches.len()).map(|index| format_ident!("Branch{index}")).collect();
    let wait = wait(select, &names);
    let arms = select.branches.iter().zip(&names).map(|(branch, name)| {
        let (pattern, handler) = (&branch.pattern, &branch.handler);
        quote!(__DurableSelected::#name(#pattern) => #handler,)
    });
    let otherwise = if let Some((.., handler)) = &select.otherwise {
        quote!(#handler)
    } else {
        quote!(::durable::__private::nothing_to_select())
    };
    quote! {{
        #[allow(dead_code, clippy::large_enum_variant)]
        enum __DurableSelected<#(#names),*> { #(#names(#names),)* Nothing }
        #[allow(unreachable_patterns)]
        match #wait {
            #(#arms)*
            _ => #otherwise,
        }
    }}
}

/// A block whose value is the branch that ended first. Its futures are dropped with it: a tuple's in source order.
fn wait(select: &Select, names: &[Ident]) -> TokenStream {
    let [conditions, scope, branches, cx, waiting, out] =
        ["conditions", "scope", "branches", "cx", "waiting", "out"].map(local);
    let indices: Vec<syn::Index> = (0..names.len()).map(syn::Index::from).collect();
    let holds = select.branches.iter().map(|branch| {
        let condition = branch.condition.as_ref();
        condition.map_or_else(|| quote!(true), |condition| quote_spanned!(condition.span()=> #condition))
    });
    let made = select.branches.iter().zip(&indices).map(|(branch, index)| {
        let future = &branch.future;
        quote!({
            let branch = #scope.branch();
            if #conditions.#index {
                ::core::option::Option::Some(branch.wrap(#future))
            } else {
                ::core::option::Option::None
            }
        })
    });
    let looks = select.branches.iter().zip(names).zip(&indices);
    let looks =
        looks.map(|((branch, name), index)| look(branch, name, &quote!(#branches.#index), &cx, &waiting));
    quote! {{
        let #conditions = (#(#holds,)*);
        let mut #scope = ::durable::__private::BranchScope::open("select");
        let mut #branches = (#(#made,)*);
        let #out = ::durable::__private::select(|#cx| {
            let mut #waiting = false;
            #(#looks)*
            if #waiting {
                ::durable::__private::Poll::Pending
            } else {
                ::durable::__private::Poll::Ready(__DurableSelected::Nothing)
            }
        })
        .await;
        #out
    }}
}

/// A look at one branch; it returns from the closure if that has ended with a value that fits.
fn look(branch: &Branch, name: &Ident, place: &TokenStream, cx: &Ident, waiting: &Ident) -> TokenStream {
    let value = local("value");
    let mut pattern = branch.pattern.clone();
    LookOnly.visit_pat_mut(&mut pattern);
    quote! {
        match ::durable::__private::poll_branch(&mut #place, #cx) {
            ::durable::__private::Polled::Ended(#value) => {
                #[allow(unused_variables, unreachable_patterns, clippy::all, clippy::pedantic)]
                if match &#value { #pattern => true, _ => false } {
                    return ::durable::__private::Poll::Ready(__DurableSelected::#name(#value));
                }
            }
            ::durable::__private::Polled::Waiting => #waiting = true,
            ::durable::__private::Polled::Disabled => {}
        }
    }
}
