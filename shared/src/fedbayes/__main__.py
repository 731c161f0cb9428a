"""``python -m fedbayes``: the command."""

from .client.cli import main

main()
