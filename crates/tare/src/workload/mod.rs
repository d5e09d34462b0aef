//! What the client threads do.
