"""``python -m fedbayes.client``: the command."""

from .cli import main

main()
