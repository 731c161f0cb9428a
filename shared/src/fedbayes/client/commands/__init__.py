"""The commands of ``fedbayes``: one module a command, imported when it is called."""
