"""`transom mcp`: the conversations of a store for an MCP client."""
