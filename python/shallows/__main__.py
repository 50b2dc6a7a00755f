"""The command `shallows`, and `python -m shallows`."""

import sys


def main() -> None:
    """Run the command line. Ctrl-C prints one line, also while modules are being imported."""
    try:
        from shallows.cli import main
    except KeyboardInterrupt:
        print("shallows: interrupted before there was anything to save", file=sys.stderr)
        sys.exit(130)
    main()


if __name__ == "__main__":
    main()
