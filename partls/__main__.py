"""``python -m partls`` is ``partls``, where the folder of scripts is not on the path."""

from partls.cli import main

main()
