"""``python -m graphcondense``."""

from graphcondense.cli import main

if __name__ == "__main__":
    main()
