"""A proxy between an agent and a provider: the same exchange as below `transom.wrap`, for programs in any language."""
