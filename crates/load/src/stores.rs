//! Declares the module of each store's driver, and lists what is in them.

/// Lists the stores: the module of each, and what in it is
/// [`Spoken`](crate::store::Spoken). A module has the scheme as `SCHEME`. Where it belongs to a
/// feature, a file of it has the scheme alone, so that a program without the feature knows what it
/// lacks.
macro_rules! stores {
    ($($module:ident: $speech:ident
        $(, of feature $feature:literal, without it $scheme:literal)?;)+) => {
        $( stores!(@module $module $($feature $scheme)?); )+

        /// All stores, in the order of the manual.
        pub static STORES: &[&protocol::StoreProtocol] =
            &[$( stores!(@entry $module $speech $($feature)?) ),+];

        /// The driver of each that is part of the program.
        static DRIVERS: &[drivers::StoreDriver] = &[$(
            $(#[cfg(feature = $feature)])?
            drivers::StoreDriver::speaking::<$module::$speech>(&$module::SCHEME),
        )+];
    };
    (@module $module:ident) => {
        pub mod $module;
    };
    (@module $module:ident $feature:literal $scheme:literal) => {
        #[cfg(feature = $feature)]
        pub mod $module;
        #[cfg(not(feature = $feature))]
        #[path = $scheme]
        pub mod $module;
    };
    (@entry $module:ident $speech:ident) => {
        &protocol::StoreProtocol::of::<$module::$speech>(&$module::SCHEME)
    };
    (@entry $module:ident $speech:ident $feature:literal) => {{
        #[cfg(feature = $feature)]
        static ENTRY: protocol::StoreProtocol =
            protocol::StoreProtocol::of::<$module::$speech>(&$module::SCHEME);
        #[cfg(not(feature = $feature))]
        static ENTRY: protocol::StoreProtocol =
            protocol::StoreProtocol::left_out(&$module::SCHEME, $feature);
        &ENTRY
    }};
}
