"""The command `shallows`, and `python -m shallows`."""

import sys


def main() -> None:
    """The command line. Ctrl-C is one line also while it is still being loaded."""
    try:
        from shallows.cli import main
    except KeyboardInterrupt:
        print("shallows: interrupted before there was anything to save", file=sys.stderr)
        sys.exit(130)
    main()


if __name__ == "__main__":
    main()
