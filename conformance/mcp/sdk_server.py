"""A server of the Python SDK over streamable HTTP: `sdk_server.py PORT`. It speaks both eras."""

import sys

try:
    from mcp.server import MCPServer as Server
except ImportError:
    from mcp.server.fastmcp import FastMCP as Server

server = Server("sdk")


@server.tool()
def add(a: int, b: int) -> str:
    """Adds two numbers."""
    return f"sum {a + b}"


if __name__ == "__main__":
    server.run(transport="streamable-http", host="127.0.0.1", port=int(sys.argv[1]))
