//! Every rule for the fn under an attribute. Reports all violations; returns a model only without any.

use proc_macro2::{Delimiter, Group, Ident, Span, TokenStream};
use quote::{ToTokens, quote};
use syn::ext::IdentExt;
use syn::spanned::Spanned;
use syn::visit::{self, Visit};
use syn::{
    Attribute, FnArg, ItemFn, Lifetime, Pat, PatIdent, PatType, ReturnType, Safety, Signature, Type,
    TypeImplTrait, TypeReference,
};

use crate::errors::Errors;
use crate::model::{Attrs, Function, Helper, Kind, Options, Param};
use crate::options::check_name;

/// Most parameters after the context: `(A, .., L)` tuples of the standard library end at twelve.
const PARAMS_MAX: usize = 12;

/// Checks a workflow or activity fn.
pub(crate) fn function(kind: Kind, options: Options, item: &ItemFn, errors: &mut Errors) -> Option<Function> {
    let mut found = Rules { kind, errors, clean: true };
    found.qualifiers(&item.sig);
    found.generics(&item.sig);
    found.attributes(&item.attrs);
    let ctx = found.context(&item.sig);
    let params = found.params(&item.sig);
    let output = found.output(&item.sig);
    if options.name.is_none()
        && let Err(message) = check_name(&item.sig.ident.unraw().to_string())
    {
        found.on(&item.sig.ident, message);
    }
    let clean = found.clean;
    let (true, Some(ctx), Some(output)) = (clean, ctx, output) else {
        return None;
    };
    Some(Function {
        kind,
        attrs: attributes(&item.attrs),
        vis: item.vis.clone(),
        sig: item.sig.clone(),
        ctx,
        params,
        output,
        block: (*item.block).clone(),
        options,
    })
}

/// Checks a helper fn, which may be generic, a method, and take references.
pub(crate) fn helper(item: ItemFn, errors: &mut Errors) -> Option<Helper> {
    let sig = &item.sig;
    let mut clean = true;
    let mut refuse = |tokens: &dyn ToTokens, message: &str| {
        errors.on(tokens.to_token_stream(), message);
        clean = false;
    };
    if sig.asyncness.is_none() {
        refuse(&sig.fn_token, "`#[durable::helper]` goes on an `async fn`; a plain fn needs no attribute");
    }
    if let Some(token) = sig.constness {
        refuse(&token, "a helper cannot be `const`; remove it");
    }
    if !matches!(sig.safety, Safety::Default) {
        refuse(&sig.safety, "a helper cannot be `unsafe`; remove it");
    }
    if let Some(abi) = &sig.abi {
        refuse(abi, "a helper cannot be `extern`; remove it");
    }
    if let Some(variadic) = &sig.variadic {
        refuse(&variadic.dots, "a helper cannot be variadic; name each parameter");
    }
    for attr in &item.attrs {
        if let Some(name) = durable_attribute(attr) {
            refuse(
                attr,
                &format!("a fn is either a helper or has `#[{name}]`; remove one of the attributes"),
            );
        }
    }
    let output = match &sig.output {
        ReturnType::Default => quote!(()),
        ReturnType::Type(_, ty) => ty.to_token_stream(),
    };
    clean.then(|| Helper {
        attrs: item.attrs.clone(),
        vis: item.vis.clone(),
        sig: item.sig.clone(),
        output,
        block: *item.block,
    })
}

struct Rules<'a> {
    kind: Kind,
    errors: &'a mut Errors,
    clean: bool,
}

impl Rules<'_> {
    fn on(&mut self, tokens: impl ToTokens, message: impl std::fmt::Display) {
        self.clean = false;
        self.errors.on(tokens, message);
    }

    fn at(&mut self, span: Span, message: impl std::fmt::Display) {
        self.clean = false;
        self.errors.at(span, message);
    }

    fn qualifiers(&mut self, sig: &Signature) {
        let a_noun = self.kind.a_noun();
        if sig.asyncness.is_none() {
            self.on(
                sig.fn_token,
                format!("`{}` needs an `async fn`; write `async fn {}`", self.kind.attribute(), sig.ident),
            );
        }
        if let Some(token) = sig.constness {
            self.on(token, format!("{a_noun} cannot be `const`; remove it"));
        }
        if !matches!(sig.safety, Safety::Default) {
            self.on(
                &sig.safety,
                format!("{a_noun} cannot be `unsafe`; use an `unsafe` block inside an activity"),
            );
        }
        if let Some(abi) = &sig.abi {
            self.on(abi, format!("{a_noun} cannot be `extern`; remove it"));
        }
        if let Some(variadic) = &sig.variadic {
            self.on(variadic.dots, format!("{a_noun} cannot be variadic; name each parameter"));
        }
    }

    fn generics(&mut self, sig: &Signature) {
        let a_noun = self.kind.a_noun();
        if !sig.generics.params.is_empty() {
            let message = format!(
                "{a_noun} cannot be generic: it is found by its name, which has no types or lifetimes; \
                    write one fn for each type that shares a generic helper"
            );
            self.on(&sig.generics, message);
        } else if let Some(clause) = &sig.generics.where_clause {
            self.on(clause, format!("{a_noun} cannot have a `where` clause; remove it"));
        }
    }

    fn attributes(&mut self, attrs: &[Attribute]) {
        for attr in attrs {
            if let Some(name) = durable_attribute(attr) {
                let message = format!(
                    "a fn is either {} or has `#[{name}]`; remove one of the attributes",
                    self.kind.a_noun()
                );
                self.on(attr, message);
            }
        }
    }

    fn context(&mut self, sig: &Signature) -> Option<Ident> {
        let (a_noun, context) = (self.kind.a_noun(), self.kind.context());
        match sig.inputs.first() {
            None => {
                self.at(
                    sig.paren_token.span.join(),
                    format!("{a_noun} takes its context first; write `(ctx: &{context})`"),
                );
                None
            }
            Some(FnArg::Receiver(receiver)) => {
                self.on(
                    receiver,
                    format!(
                        "{a_noun} is a free fn and has no `self`; pass what it needs \
                    as arguments after `ctx: &{context}`"
                    ),
                );
                None
            }
            Some(FnArg::Typed(first)) => {
                self.parameter_attributes(&first.attrs);
                self.context_type(first);
                self.context_name(&first.pat)
            }
        }
    }

    fn context_type(&mut self, first: &PatType) {
        let (a_noun, context) = (self.kind.a_noun(), self.kind.context());
        let other = match self.kind {
            Kind::Workflow => Kind::Activity,
            Kind::Activity => Kind::Workflow,
        };
        let Type::Reference(reference) = unwrapped(&first.ty) else {
            if names(&first.ty, context) {
                self.on(&first.ty, format!("{a_noun} borrows its context; write `&{context}`"));
            } else {
                self.on(
                    &first.ty,
                    format!(
                        "the first parameter of {a_noun} is its context; write `ctx: \
                    &{context}` before the arguments"
                    ),
                );
            }
            return;
        };
        if names(&reference.elem, other.context()) {
            let message =
                format!("{a_noun} takes `&{context}`; `&{}` is for `{}`", other.context(), other.attribute());
            self.on(&first.ty, message);
        } else if !names(&reference.elem, context) {
            self.on(
                &first.ty,
                format!(
                    "the first parameter of {a_noun} is its context; write `ctx: \
                &{context}` before the arguments"
                ),
            );
        } else if reference.mutability.is_some()
            || reference.lifetime.as_ref().is_some_and(|lifetime| lifetime.ident != "_")
        {
            self.on(
                &first.ty,
                format!("write the context's type as `&{context}`, with no lifetime and no `mut`"),
            );
        }
    }

    fn context_name(&mut self, pat: &Pat) -> Option<Ident> {
        match pat {
            Pat::Wild(wild) => Some(Ident::new("__durable_ctx", wild.span())),
            pat => self.name(pat),
        }
    }

    fn params(&mut self, sig: &Signature) -> Vec<Param> {
        let mut params: Vec<Param> = Vec::new();
        for arg in sig.inputs.iter().skip(1) {
            // A `self` that is not the first parameter is the compiler's to refuse.
            let FnArg::Typed(arg) = arg else { continue };
            self.parameter_attributes(&arg.attrs);
            self.owned_type(&arg.ty, "an argument");
            let Some(ident) = self.name(&arg.pat) else { continue };
            let name = ident.unraw().to_string();
            let key = match name.trim_start_matches('_') {
                "" => name.clone(),
                trimmed => trimmed.to_owned(),
            };
            if params.iter().any(|param| param.key == key) {
                self.on(&ident, format!("two parameters are both recorded as `{key}`; rename one"));
            }
            params.push(Param { ident, ty: (*arg.ty).clone(), key });
        }
        if let Some(extra) = sig.inputs.iter().nth(PARAMS_MAX + 1) {
            let message = format!(
                "{} takes at most {PARAMS_MAX} arguments; gather some in a struct",
                self.kind.a_noun()
            );
            self.on(extra, message);
        }
        params
    }

    fn name(&mut self, pat: &Pat) -> Option<Ident> {
        match pat {
            Pat::Ident(PatIdent { by_ref: None, subpat: None, ident, .. }) => Some(ident.clone()),
            Pat::Wild(wild) => {
                self.on(
                    wild,
                    "arguments are recorded under their names: give this parameter one, such as `_order`",
                );
                None
            }
            pat => {
                self.on(
                    pat,
                    "arguments are recorded under their names: give this parameter a plain one \
                    and destructure it in the body",
                );
                None
            }
        }
    }

    fn parameter_attributes(&mut self, attrs: &[Attribute]) {
        for attr in attrs.iter().filter(|attr| !is_lint(attr)) {
            self.on(attr, "only lint attributes may stand on a parameter here; remove this one");
        }
    }

    fn output(&mut self, sig: &Signature) -> Option<Type> {
        let a_noun = self.kind.a_noun();
        let ReturnType::Type(_, ty) = &sig.output else {
            let error = match self.kind {
                Kind::Workflow => "your own error type, or `durable::WorkflowError`",
                Kind::Activity => "your own error type, or `String`",
            };
            let message =
                format!("{a_noun} must return `Result<T, E>`: add `-> Result<(), E>`, with {error} for `E`");
            // Underlines the name and the parentheses, after which the type is missing.
            let mut parentheses = Group::new(Delimiter::Parenthesis, TokenStream::new());
            parentheses.set_span(sig.paren_token.span.join());
            let name = &sig.ident;
            self.on(quote!(#name #parentheses), message);
            return None;
        };
        if is_no_result(unwrapped(ty)) {
            let message = format!(
                "{a_noun} must return `Result<T, E>`, as every wait on it can fail; write `Result<.., \
                    E>` around this type"
            );
            self.on(ty, message);
            return None;
        }
        self.owned_type(ty, "a result");
        Some((**ty).clone())
    }

    fn owned_type(&mut self, ty: &Type, what: &str) {
        let mut borrowed = Borrowed::default();
        borrowed.visit_type(ty);
        if let Some(found) = borrowed.reference {
            self.on(
                found,
                format!(
                    "{what} is recorded in history and must own its data; use an owned \
                type, such as `String` for `&str`"
                ),
            );
        } else if let Some(found) = borrowed.lifetime {
            self.on(
                found,
                format!(
                    "{what} is recorded in history and must own its data: no lifetime \
                but `'static` can stand here"
                ),
            );
        } else if let Some(found) = borrowed.impl_trait {
            self.on(
                found,
                format!("{what} is recorded in history and needs a named type; `impl Trait` is none"),
            );
        }
    }
}

/// The first part of a type that borrows, or has no name.
#[derive(Default)]
struct Borrowed {
    reference: Option<TypeReference>,
    lifetime: Option<Lifetime>,
    impl_trait: Option<TypeImplTrait>,
}

impl<'ast> Visit<'ast> for Borrowed {
    fn visit_type_reference(&mut self, reference: &'ast TypeReference) {
        self.reference.get_or_insert_with(|| reference.clone());
    }

    fn visit_lifetime(&mut self, lifetime: &'ast Lifetime) {
        if lifetime.ident != "static" {
            self.lifetime.get_or_insert_with(|| lifetime.clone());
        }
    }

    fn visit_type_impl_trait(&mut self, impl_trait: &'ast TypeImplTrait) {
        self.impl_trait.get_or_insert_with(|| impl_trait.clone());
        visit::visit_type_impl_trait(self, impl_trait);
    }
}

/// Whether a type neither borrows nor lacks a name.
pub(crate) fn is_owned(ty: &Type) -> bool {
    let mut borrowed = Borrowed::default();
    borrowed.visit_type(ty);
    borrowed.reference.is_none() && borrowed.lifetime.is_none() && borrowed.impl_trait.is_none()
}

/// Whether a parameter's type is meant as a context, however it is passed.
pub(crate) fn is_context(ty: &Type) -> bool {
    match unwrapped(ty) {
        Type::Reference(reference) => is_context(&reference.elem),
        ty => [Kind::Workflow, Kind::Activity].iter().any(|kind| names(ty, kind.context())),
    }
}

/// Types that are certainly no `Result`; the rest is the compiler's to tell, through aliases.
fn is_no_result(ty: &Type) -> bool {
    match ty {
        Type::Tuple(_)
        | Type::Never(_)
        | Type::Array(_)
        | Type::Slice(_)
        | Type::Reference(_)
        | Type::ImplTrait(_) => true,
        Type::Path(path) => path.path.segments.last().is_some_and(|last| {
            let name = last.ident.to_string();
            matches!(
                name.as_str(),
                "Option"
                    | "Vec"
                    | "String"
                    | "Box"
                    | "bool"
                    | "char"
                    | "u8"
                    | "u16"
                    | "u32"
                    | "u64"
                    | "u128"
                    | "usize"
                    | "i8"
                    | "i16"
                    | "i32"
                    | "i64"
                    | "i128"
                    | "isize"
                    | "f32"
                    | "f64"
            )
        }),
        _ => false,
    }
}

/// The type without parentheses and invisible groups.
fn unwrapped(ty: &Type) -> &Type {
    match ty {
        Type::Paren(paren) => unwrapped(&paren.elem),
        Type::Group(group) => unwrapped(&group.elem),
        ty => ty,
    }
}

fn names(ty: &Type, name: &str) -> bool {
    let Type::Path(path) = unwrapped(ty) else { return false };
    path.path.segments.last().is_some_and(|last| last.ident == name)
}

/// The name of one of durable's attributes, if this is one.
fn durable_attribute(attr: &Attribute) -> Option<String> {
    let last = attr.path().segments.last()?.ident.to_string();
    matches!(last.as_str(), "workflow" | "activity" | "helper").then_some(last)
}

fn is_lint(attr: &Attribute) -> bool {
    ["allow", "expect", "warn", "deny", "forbid"].iter().any(|name| attr.path().is_ident(name))
}

fn attributes(attrs: &[Attribute]) -> Attrs {
    let mut sorted = Attrs::default();
    for attr in attrs {
        let path = attr.path();
        if path.is_ident("doc") {
            sorted.docs.push(attr.clone());
        } else if path.is_ident("deprecated") {
            sorted.call.push(attr.clone());
        } else if path.is_ident("cfg") || path.is_ident("allow") {
            sorted.shared.push(attr.clone());
        } else {
            sorted.body.push(attr.clone());
        }
    }
    sorted
}
