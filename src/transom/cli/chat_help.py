"""The slash commands of a chat, each with one line of help."""

SLASH_COMMANDS = {
    "/compact": "make the context smaller now",
    "/undo [EDIT]": "take back the last compaction, pin or discarded answer, or the edit with this number",
    "/context": "what is in the context",
    "/explain [CALL]": "every entry of the log: what the model sees of it, and why",
    "/pin ENTRY [WHY]": "keep an entry in the context (/explain has the numbers)",
    "/note TEXT": "a note that the model reads with every message",
    "/model [NAME]": "go on with another model, or print which one it is",
    "/mode [MODE]": "chat, agent, or run DIRECTIVE; or print which one it is",
    "/retry": "discard the last answer and ask again; after a failure, go on",
    "/help": "these commands",
    "/quit": "leave; the same id goes on",
}
