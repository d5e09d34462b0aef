//! JSON objects that are declared where they are written.

/// A value that serialises as an object with these fields, in this order. Fields may have attributes of serde that do
/// not depend on the type; a field that may be absent is a flattened `Option` of an object.
#[macro_export]
macro_rules! object {
    ($($(#[$attribute:meta])* $name:ident $(: $value:expr)?),* $(,)?) => {{
        #[allow(non_camel_case_types, reason = "the type of a field has the name of the field")]
        let object = {
            #[derive(::serde::Serialize)]
            struct Object<$($name),*> {
                $($(#[$attribute])* $name: $name),*
            }
            Object { $($name $(: $value)?),* }
        };
        object
    }};
}
