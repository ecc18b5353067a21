"""Adapters: a conversation behind the extension point of an agent framework.

Each module is one framework's, and imports it: `transom.adapters.langchain` (LangGraph and deepagents too),
`.openai_agents`, `.pydantic_ai`, `.strands`, `.google_adk`, `.agent_framework`. What they share is in `sessions.py`.
"""
