"""MCP both ways: `transom mcp` gives a client the conversations of a store; `McpServer` gives a run the tools of a
server."""

from transom.errors import ToolsUnavailable as ToolsUnavailable
from transom.mcp.client import McpServer as McpServer

__all__ = ["McpServer", "ToolsUnavailable"]
